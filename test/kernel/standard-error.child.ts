/** Writes lines to stderr, of which the second may not wait, and ends in the given way within the same tick. */
import { writeLine } from "../../lib/kernel/standard-error.ts";

writeLine("a", true);
writeLine("b", false);
process.stderr.write("between\n");
writeLine("c", true);
writeLine("d", true);
if (process.argv[2] === "exit") process.exit(3);
if (process.argv[2] === "throw") throw new Error("it failed");
