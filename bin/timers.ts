import { systemTimer } from "../lib/kernel/clock.ts";

/** Waits this many milliseconds. Keeps the program running until then. */
export const pause = (ms: number) => new Promise<void>((resolve) => void systemTimer(ms, resolve, { hold: true }));

/** Runs `work` after some milliseconds, unless it is cancelled. A system timer runs a minute at most. */
export function longTimer(ms: number, work: () => void): () => void {
  let cancel = systemTimer(ms, () => {
    if (ms <= 60_000) work();
    else cancel = longTimer(ms - 60_000, work);
  });
  return () => cancel();
}
