import { type LogSink, lineSink } from "../log.ts";
import { yieldToEventLoop } from "./event-loop.ts";

/** Lines that wait for the end of their tick, and how many they are. */
let lines = "";
let count = 0;
/** The lines that were lost since the last successful write. */
let lost = 0;
let isWatched = false;

/** In bytes. A write of up to 4,096 to a pipe that processes share is atomic (pipe(7)), so no line is torn. */
const atOnce = 4096;
/** In bytes. If a slow reader, such as a pager, leaves more unread, lines are lost. */
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
    // The program that embeds the service may have replaced `stderr`. Its errors must not fail a request.
  }
}

/**
 * Writes the lines of a tick together: one by one, they take a sixth of the time of a GET. If lines were lost, `lossOf`
 * of their number is written before the next line.
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
