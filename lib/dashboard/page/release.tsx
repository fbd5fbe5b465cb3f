import { refOf, type Source, shortVersion } from "./sources.ts";
import { Text } from "./ui.tsx";

/** A release by its tag or branch, and by its commit where that says more. */
export const Release = ({ of, version }: { of: Source | undefined; version: string | null }) => (
  <>
    <Text of={of ? refOf(of) : ""} class="strong" />
    {of && refOf(of) !== version && <span class="mono"> {shortVersion(version)}</span>}
  </>
);
