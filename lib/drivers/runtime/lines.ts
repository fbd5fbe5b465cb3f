import { StringDecoder } from "node:string_decoder";
import { withoutEscapeSequences } from "../../kernel/escape-sequences.ts";
import { monotonicNow } from "../../kernel/system.ts";
import type { LogLine } from "../deployment/contract.ts";

const longestLine = 8 * 1024;
const longestBuffer = 32 * 1024;
/** The average read rate in lines and bytes. Faster reading is useless: no log keeps more than 10,000 lines. */
const lines_perMs = 5;
const bytes_perMs = 8 * 1024;

/** For each organization, when its programs have been read at that rate. */
const readUntil = new Map<string, number>();

/** The programs of an organization share the rate: 21 floods brought the 99th percentile of others to 0.2 s. */
function pauseOf(organization_id: string, cost_ms: number): number {
  const now = monotonicNow();
  const until = Math.max(readUntil.get(organization_id) ?? now, now) + cost_ms;
  readUntil.set(organization_id, until);
  return until - now;
}

/** For how many milliseconds to stop reading a program whose log is full. Reading at once took a third of a processor. */
export const pauseUnread = (chunk: Buffer): number => chunk.length / (4 * bytes_perMs);

const isError = /^(npm (error|ERR!)|fatal:|panic:|error[:\s]|[\w.]*(Error|Exception):)|\sERR_\w+/;
const isWarning = /^(npm warn|warn(ing)?\b|\(node:\d+\) \w*Warning)/i;

const memoryWords = /out of memory|allocation failed|ENOMEM|MemoryError|bad_alloc|Cannot allocate memory/i;
/**
 * Whether a program reports that it ran out of memory. A process's own hard limit applies before the watch over all
 * processes.
 */
export const tellsOfMemory = (message: string): boolean => memoryWords.test(message);

/** Converts a line to a log entry. Programs also print progress to stderr, so the text decides the level. */
function entryOf(text: string): LogLine {
  const message = withoutEscapeSequences(text);
  const level = isError.test(message.trimStart()) ? "error" : isWarning.test(message.trimStart()) ? "warn" : "info";
  return { level, message };
}

/**
 * Splits a program's output into entries. If carriage returns overwrite a line, only its last state counts. `hide`
 * replaces secrets before a long line is cut; after the cut, half a secret could remain.
 */
export function createLineReader(
  organization_id: string,
  take: (line: LogLine) => void,
  hide: (text: string) => string,
) {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const emit = (line: string) => {
    const shown = hide(line.split("\r").findLast((state) => state !== "") ?? "");
    take(entryOf(shown.length > longestLine ? `${shown.slice(0, longestLine)}…` : shown));
  };
  return {
    /** Returns for how many milliseconds to stop reading, so a program that floods its log has to wait. */
    write(chunk: Buffer): number {
      const parts = (rest + decoder.write(chunk)).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) emit(part);
      if (rest.length > longestBuffer) {
        emit(rest);
        rest = "";
      }
      return pauseOf(organization_id, Math.max(parts.length / lines_perMs, chunk.length / bytes_perMs));
    },
    /** The program has ended. Its last line may lack a newline. */
    end(): void {
      rest += decoder.end();
      if (rest !== "") emit(rest);
      rest = "";
    },
  };
}
