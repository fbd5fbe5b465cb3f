/** Writes lines to stderr, the second one as urgent, and ends in the given way within the same tick. */
import { writeLine } from "../../lib/kernel/standard-error.ts";

writeLine("a", false);
writeLine("b", true);
process.stderr.write("between\n");
writeLine("c", false);
writeLine("d", false);
if (process.argv[2] === "exit") process.exit(3);
if (process.argv[2] === "throw") throw new Error("it failed");
