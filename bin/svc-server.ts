#!/usr/bin/env node
import { run } from "./main.ts";
import { describeUnwritten, hasReaderLeft } from "./output.ts";
import { stopWithNpx } from "./stop-with-npx.ts";

// Without listeners, a reader that leaves would end the program in the middle of its work.
let unwritten: Error | undefined;
process.stdout.on("error", (error) => {
  unwritten ??= error;
});
process.stderr.on("error", () => {});
stopWithNpx();
const { code, message } = await run(process.argv.slice(2));
if (message !== undefined) process.stderr.write(message);
// A pipe accepts long output in pieces. An exit before the last piece would truncate it.
process.stdout.write("", (error) => {
  const lost = unwritten ?? error;
  if (code !== 0 || !lost || hasReaderLeft(lost)) process.exit(code);
  process.stderr.write(`svc-server: ${describeUnwritten(lost)}\n`);
  process.exit(1);
});
