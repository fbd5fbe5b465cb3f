import type { LogLine } from "../../drivers/deployment/contract.ts";
import { maxAppLines } from "../../kernel/limits.ts";

const shown = 20;

/** The output of an app. It is kept until a listener exists. */
export function createOutput() {
  let waiting: LogLine[] = [];
  let last: LogLine[] = [];
  let take: ((lines: LogLine[]) => void) | undefined;
  return {
    add(line: LogLine): void {
      last = [...last.slice(1 - shown), line];
      if (take) return void take([line]);
      waiting.push(line);
      // Dropped in bulk, because removing one line from the front moves all others.
      if (waiting.length > 2 * maxAppLines) waiting = waiting.slice(-maxAppLines);
    },
    /** Passes on the lines, the earlier ones at once: they are in the log as soon as the release is live. */
    listen(given: (lines: LogLine[]) => void): void {
      take = given;
      given(waiting);
      waiting = [];
    },
    /** The last lines, for the log of a failed deployment. */
    last: () => last,
  };
}
