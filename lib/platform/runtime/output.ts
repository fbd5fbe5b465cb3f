import type { LogLine } from "../../drivers/deployment/contract.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { maxAppLines } from "../../kernel/limits.ts";

const shown = 20;
/** A burst of lines is one transaction. */
const batch_ms = 100;

/** The output of an app. It is kept until a listener exists, then passed on in batches. */
export function createOutput() {
  let waiting: LogLine[] = [];
  let last: LogLine[] = [];
  let take: ((lines: LogLine[]) => void) | undefined;
  const pass = () => {
    const lines = waiting;
    waiting = [];
    if (lines.length > 0) take?.(lines);
  };
  return {
    add(line: LogLine): void {
      last = [...last, line].slice(-shown);
      waiting.push(line);
      if (take && waiting.length === 1) systemTimer(batch_ms, pass);
      // Dropped in bulk, because removing one line from the front moves all others.
      if (waiting.length > 2 * maxAppLines) waiting = waiting.slice(-maxAppLines);
    },
    /** Passes on the lines, the earlier ones at once: they are in the log as soon as the release is live. */
    listen(given: (lines: LogLine[]) => void): void {
      take = given;
      pass();
    },
    /** Call when the program starts. */
    begin(): void {
      last = [];
    },
    /** The last lines of a start, for the log of a failed deployment. */
    last: () => last,
    /** Passes on the rest at once. */
    end(): void {
      pass();
      take = undefined;
    },
  };
}
