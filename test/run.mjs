// `npm test [filter …] [--node-flag …]` on Node 20, 22 and 24, in any shell: Node 20 knows no globs, and finds nothing in
// a folder without saying so.
import { spawn } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { compile } from "./compile.mjs";

const words = process.argv.slice(2);
const flags = words.filter((word) => word.startsWith("-"));
const filters = words.filter((word) => !word.startsWith("-"));
const files = readdirSync("test", { recursive: true })
  .map(String)
  .filter(
    (file) => file.endsWith(".test.ts") && (filters.length === 0 || filters.some((filter) => file.includes(filter))),
  )
  .sort();
if (files.length === 0) {
  console.error("no test file matches", filters.join(" "));
  process.exit(1);
}
if (!flags.some((flag) => flag.startsWith("--test-reporter")))
  flags.push(`--test-reporter=${process.stdout.isTTY ? "spec" : "./test/reporter.mjs"}`);
const folder = await compile();
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const command = [
  "--enable-source-maps",
  "--test",
  // Its own choice is a core fewer than there are, which is one of two.
  `--test-concurrency=${availableParallelism()}`,
  "--test-timeout=120000",
  ...flags,
  ...files.map((file) => join(folder, "dist/test", file.replace(/ts$/, "js"))),
];
const tests = spawn(process.execPath, command, { stdio: "inherit" });
// Ctrl+C reaches the tests as well; this waits for their end, and takes the folder away.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => tests.kill(signal));
tests.on("exit", (code) => process.exit(code ?? 1));
