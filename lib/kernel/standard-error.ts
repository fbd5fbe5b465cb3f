import { yieldToEventLoop } from "./event-loop.ts";

let lines = "";
let isWatched = false;

function flush(): void {
  const text = lines;
  lines = "";
  if (text !== "") process.stderr.write(text);
}

/**
 * Writes a line to stderr, after all earlier ones: at once, or with the other lines of this tick. Node would write each
 * line by itself: with their requests logged, 30,000 GETs a second take 0.84 of the processor time this way.
 */
export function writeLine(line: string, mayWait: boolean): void {
  if (!isWatched) process.on("exit", flush);
  isWatched = true;
  if (lines === "" && mayWait) void yieldToEventLoop().then(flush);
  lines += `${line}\n`;
  if (!mayWait) flush();
}
