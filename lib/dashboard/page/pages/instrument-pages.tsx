import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { session } from "../api.ts";
import { Loading } from "../ui.tsx";

/** The pages that exist only in `dev`. */
export const instrumentPages = [
  ["/timeline", "Timeline", "gantt"],
  ["/inbox", "Inbox", "inbox"],
  ["/mail", "Mail", "mail"],
  ["/scenarios", "Scenarios", "clapperboard"],
  ["/faults", "Faults", "bug"],
  ["/snapshots", "Snapshots", "camera"],
] as const;

export const isInstrument = (feature: string): boolean =>
  session.value?.mode === "dev" && instrumentPages.some(([path]) => path === `/${feature}`);

interface Chosen {
  readonly feature: string;
  readonly id?: string;
  readonly part?: string;
}

let Loaded: ComponentType<Chosen> | undefined;

/** These pages, those of receivers and of the administration are in one file, which loads when the first of them opens. */
export function InstrumentPage(chosen: Chosen) {
  const [error, setError] = useState<unknown>();
  const [, setLoaded] = useState(Loaded !== undefined);
  useEffect(() => {
    import("./instruments.tsx").then(
      ({ Instruments }) => {
        Loaded = Instruments;
        setLoaded(true);
      },
      // The server was upgraded, and the file of the old version is gone.
      () => setError(new Error("This page could not be loaded. Load the dashboard again.")),
    );
  }, []);
  return Loaded ? <Loaded {...chosen} /> : <Loading error={error} />;
}
