import { StringDecoder } from "node:string_decoder";
import type { LogLine } from "../../drivers/deployment/contract.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { withoutEscapeSequences } from "../../kernel/text/escape-sequences.ts";

const maxLine = 8 * 1024;
const maxBuffer = 32 * 1024;
/** The average read rate in lines and bytes. Faster reading is useless: no log keeps more than 10,000 lines. */
const lines_perMs = 5;
const bytes_perMs = 8 * 1024;

/** How many milliseconds to stop reading a program whose log is full: reading at once would keep a processor busy. */
export const pauseUnread = (chunk: Buffer): number => chunk.length / (4 * bytes_perMs);

/** Until when the output of a program is not read. */
interface Pause {
  until: number;
}
const maxPause_ms = 60_000;

export type Pacing = ReturnType<typeof createPacing>;

/**
 * Slows a program down by the number of its organization's programs that flood their logs: many take no more of the
 * server than one. A quiet program is still read at once.
 */
export function createPacing() {
  const pausing = new Map<string, Set<Pause>>();

  return function paced(organization_id: string, write: (chunk: Buffer) => number): (chunk: Buffer) => number {
    const pause: Pause = { until: 0 };
    return (chunk) => {
      const begun = monotonicNow();
      const least_ms = write(chunk);
      const now = monotonicNow();
      // The search for secrets takes longer in some lines.
      const cost_ms = Math.max(least_ms, 4 * (now - begun));
      const all = pausing.get(organization_id) ?? new Set();
      for (const one of all) if (one.until <= now) all.delete(one);
      pausing.set(organization_id, all.add(pause));
      pause.until = Math.min(Math.max(pause.until, now) + cost_ms * all.size, now + maxPause_ms);
      return pause.until - now;
    };
  };
}

const isError = /^(npm (error|ERR!)|fatal:|panic:|error[:\s]|[\w.]*(Error|Exception):)|\sERR_\w+/;
const isWarning = /^(npm warn|warn(ing)?\b|\(node:\d+\) \w*Warning)/i;

const memoryWords = /out of memory|allocation failed|ENOMEM|MemoryError|bad_alloc|Cannot allocate memory/i;
/** Whether a program reports that it ran out of memory: its own hard limit applies before the watch. */
export const tellsOfMemory = (message: string): boolean => memoryWords.test(message);

/** Converts a line to a log entry. Programs also print progress to stderr, so the text decides the level. */
function entryOf(text: string): LogLine {
  const message = withoutEscapeSequences(text);
  const level = isError.test(message.trimStart()) ? "error" : isWarning.test(message.trimStart()) ? "warn" : "info";
  return { level, message };
}

/**
 * Splits a program's output into entries. Of a line with carriage returns, only the last state counts. `hide` runs
 * before a long line is cut, because the cut could leave half a secret.
 */
export function createLineReader(take: (line: LogLine) => void, hide: (text: string) => string) {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const emit = (line: string) => {
    const shown = hide(line.split("\r").findLast((state) => state !== "") ?? "");
    take(entryOf(shown.length > maxLine ? `${shown.slice(0, maxLine)}…` : shown));
  };
  return {
    /** Returns for how many milliseconds to stop reading, so a program that floods its log has to wait. */
    write(chunk: Buffer): number {
      const parts = (rest + decoder.write(chunk)).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) emit(part);
      if (rest.length > maxBuffer) {
        emit(rest);
        rest = "";
      }
      return Math.max(parts.length / lines_perMs, chunk.length / bytes_perMs);
    },
    /** The program has ended. Its last line may lack a newline. */
    end(): void {
      rest += decoder.end();
      if (rest !== "") emit(rest);
      rest = "";
    },
  };
}
