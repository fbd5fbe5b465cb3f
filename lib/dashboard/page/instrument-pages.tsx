import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { session } from "./api.ts";
import { Loading } from "./ui.tsx";

/** The pages of `dev` alone. */
export const instrumentPages = [
  ["/timeline", "Timeline"],
  ["/inbox", "Inbox"],
  ["/mail", "Mail"],
  ["/scenarios", "Scenarios"],
  ["/faults", "Faults"],
  ["/snapshots", "Snapshots"],
] as const;

export const isInstrument = (feature: string): boolean =>
  session.value?.mode === "dev" && instrumentPages.some(([path]) => path === `/${feature}`);

interface Chosen {
  readonly feature: string;
}

let Loaded: ComponentType<Chosen> | undefined;

/** These pages are in one file, which loads with the first of them. */
export function InstrumentPage(chosen: Chosen) {
  const [error, setError] = useState<unknown>();
  const [, setLoaded] = useState(Loaded !== undefined);
  useEffect(() => {
    import("./instruments.tsx").then(
      ({ Instruments }) => {
        Loaded = Instruments;
        setLoaded(true);
      },
      // A file of a server that was replaced by another version.
      () => setError(new Error("This page could not be loaded. Load the dashboard again.")),
    );
  }, []);
  return Loaded ? <Loaded {...chosen} /> : <Loading error={error} />;
}
