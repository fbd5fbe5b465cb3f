// `npm test [filter …] [--node-flag …]` on Node 20, 22 and 24, in any shell: Node 20 knows no globs, and finds nothing in
// a folder without saying so.
import { spawn } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { compile } from "./compile.mjs";

const words = process.argv.slice(2);
const flags = words.filter((word) => word.startsWith("-"));
const filters = words.filter((word) => !word.startsWith("-"));
const files = readdirSync("test", { recursive: true })
  .map((name) => String(name).replaceAll("\\", "/"))
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
const inFolder = (file) => join(folder, "dist/test", file.replace(/ts$/, "js"));

/** Worlds of one process do not see each other, so ten chapters of the specification share one: it starts and warms up once. */
function processes() {
  const chapters = files.filter((file) => file.startsWith("spec/"));
  const shared = Array.from({ length: Math.ceil(chapters.length / 10) }, (_, i) => {
    const file = inFolder(`chapters-${i + 1}.ts`);
    const own = chapters.filter((_, at) => at % Math.ceil(chapters.length / 10) === i);
    writeFileSync(file, own.map((chapter) => `import "./${chapter.replace(/ts$/, "js")}";\n`).join(""));
    return file;
  });
  return [...files.filter((file) => !chapters.includes(file)).map(inFolder), ...shared];
}

const command = [
  "--enable-source-maps",
  "--test",
  // Its own choice is a core fewer than there are, which is one of two.
  `--test-concurrency=${availableParallelism()}`,
  "--test-timeout=120000",
  ...flags,
  ...processes(),
];
const tests = spawn(process.execPath, command, { stdio: "inherit" });
// Ctrl+C reaches the tests as well; this waits for their end, and takes the folder away.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => tests.kill(signal));
tests.on("exit", (code) => process.exit(code ?? 1));
