/** Writes lines to stderr, of which the second may not wait, and ends in the given way within the same tick. */
import { once } from "node:events";
import { writeLine } from "../../lib/kernel/node/standard-error.ts";

const line = (text: string, mayWait: boolean) => writeLine(text, mayWait, (lines) => `lost ${lines}`);
const [how] = process.argv.slice(2);
if (how === "slow reader") {
  for (let i = 0; i < 40; i++) line(`${i} `.padEnd(100_000, "x"), false);
  process.stdout.write("written\n");
  await once(process.stderr, "drain");
  line("open", false);
} else if (how === "no reader") {
  process.stdout.write("begun\n");
  await once(process.stdin, "data");
  for (let i = 0; i < 3; i++) {
    line("unread", i === 1);
    await new Promise((done) => process.stderr.write("more\n", done));
  }
  process.stdin.destroy();
} else {
  line("a", true);
  line("b", false);
  process.stderr.write("between\n");
  line("c", true);
  line("d", true);
  if (how === "exit") process.exit(3);
  if (how === "throw") throw new Error("it failed");
}
