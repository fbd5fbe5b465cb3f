import type { LogLine } from "../../drivers/deployment/contract.ts";
import { systemTimer } from "../../kernel/clock.ts";

const batch_ms = 100;
/** The log of an environment keeps no more, so older lines are dropped. */
const maxLines = 10_000;
const perBatch = 1_000;
const shown = 20;

/** The output of an app. It is buffered until a listener exists, then delivered in batches. */
export function createOutput() {
  let waiting: LogLine[] = [];
  let take: ((lines: LogLine[]) => void) | undefined;
  let isScheduled = false;
  const flush = () => {
    isScheduled = false;
    if (!take || waiting.length === 0) return;
    take(waiting.splice(0, perBatch));
    schedule();
  };
  const schedule = () => {
    if (isScheduled || !take || waiting.length === 0) return;
    isScheduled = true;
    systemTimer(batch_ms, flush);
  };
  return {
    add(line: LogLine): void {
      waiting.push(line);
      // Dropped in bulk, because removing one line from the front moves all others.
      if (waiting.length > 2 * maxLines) waiting = waiting.slice(-maxLines);
      schedule();
    },
    listen(given: (lines: LogLine[]) => void): void {
      take = given;
      // At once, so the app's first output is in the log as soon as its release is live.
      flush();
    },
    /** The last lines, for the log of a failed deployment. */
    last: (): LogLine[] => waiting.slice(-shown),
    /** Delivers the rest at once. */
    end(): void {
      if (take && waiting.length > 0) take(waiting.slice(-perBatch));
      waiting = [];
      take = undefined;
    },
  };
}
