import { type LogSink, lineSink } from "../log.ts";
import { yieldToEventLoop } from "./event-loop.ts";

/** Lines that wait for the end of their tick, and how many they are. */
let lines = "";
let count = 0;
/** The lines that could not be written since the last ones that were. */
let lost = 0;
let isWatched = false;

/** A pipe that processes share takes 4,096 bytes as a whole, so no line is torn. */
const atOnce = 4096;
/** The most bytes that wait for a reader that is slow, such as a pager. */
const maxWaiting = 1024 * 1024;

function flush(lossOf: (lines: number) => string): void {
  const [text, of] = [lines, count];
  lines = "";
  count = 0;
  if (of === 0) return;
  const { stderr } = process;
  if (stderr.writableLength > maxWaiting) {
    lost += of;
    return;
  }
  const told = lost;
  lost = 0;
  try {
    stderr.write(told > 0 ? `${lossOf(told)}\n${text}` : text, (error) => {
      if (error) lost += told + of;
    });
  } catch {
    // A program that embeds the service may have replaced it. No request must fail because of that.
  }
}

/**
 * Node would write each line by itself, which takes a sixth of the time of a GET. Lines that cannot be written are lost;
 * before the next one that can, `lossOf` says how many.
 */
export function writeLine(line: string, mayWait: boolean, lossOf: (lines: number) => string): void {
  const flushNow = () => flush(lossOf);
  if (!isWatched) process.on("exit", flushNow).stderr.on("error", () => {});
  isWatched = true;
  if (lines.length + line.length >= atOnce) flushNow();
  if (count === 0 && mayWait) void yieldToEventLoop().then(flushNow);
  lines += `${line}\n`;
  count += 1;
  if (!mayWait) flushNow();
}

/** Writes entries to stderr: as JSON, or as text on a terminal. */
export const standardErrorSink = (now: () => string): LogSink =>
  lineSink({ json: !process.stderr.isTTY, now, write: writeLine });
