// `npm test [filter …] [--node-flag …]` on Node 20, 22 and 24, in any shell: Node 20 knows no globs, and finds nothing in
// a folder without saying so.
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

const words = process.argv.slice(2);
const flags = words.filter((word) => word.startsWith("-"));
const filters = words.filter((word) => !word.startsWith("-"));
const files = readdirSync("test", { recursive: true })
  .map(String)
  .filter(
    (file) => file.endsWith(".test.ts") && (filters.length === 0 || filters.some((filter) => file.includes(filter))),
  )
  .sort()
  .map((file) => join("test", file));
if (files.length === 0) {
  console.error("no test file matches", filters.join(" "));
  process.exit(1);
}
const reporter = process.stdout.isTTY || process.env.CI ? "spec" : "dot";
const command = [
  "--import",
  "tsx",
  "--test",
  // Its own choice is a core fewer than there are, which is one of two.
  `--test-concurrency=${availableParallelism()}`,
  "--test-timeout=120000",
  `--test-reporter=${reporter}`,
  ...flags,
  ...files,
];
spawn(process.execPath, command, { stdio: "inherit" }).on("exit", (code) => process.exit(code ?? 1));
