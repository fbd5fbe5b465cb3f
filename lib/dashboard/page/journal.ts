import { useRef } from "preact/hooks";
import { control, type JournalEntry } from "./control.ts";
import { type Change, type Read, useRead } from "./live.ts";

const concerns = ({ kind }: Change) => kind === "journal" || kind === "instruments";

/** How many entries of each kind the service keeps. */
const most = 1000;

/**
 * Reads the journal once, then only new entries. After a restore the journal may be a different one, so it is read
 * completely.
 */
export function useJournal(): Read<readonly JournalEntry[]> {
  const known = useRef<readonly JournalEntry[]>([]);
  return useRead(
    "journal",
    async () => {
      const last = known.current.at(-1);
      const [same, ...fresh] = last ? await control.journal(last.seq - 1) : [];
      const isSame = last !== undefined && JSON.stringify(same) === JSON.stringify(last);
      known.current = isSame ? [...known.current, ...fresh].slice(-8 * most) : await control.journal();
      return known.current;
    },
    concerns,
  );
}
