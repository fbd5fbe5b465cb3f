// `npm test [filter …] [--node-flag …]` on Node 20, 22 and 24, in any shell: Node 20 knows no globs, and finds nothing in
// a folder without saying so.
import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path/posix";
import { compile } from "./compile.mjs";

const words = process.argv.slice(2);
const flags = words.filter((word) => word.startsWith("-"));
const filters = words.filter((word) => !word.startsWith("-"));
/**
 * Real deployments have a command of their own, `npm run test:runtime`: they take half as long as all other tests together.
 * On SQLite and without a filter, one file of them runs.
 */
const isWhole = filters.length > 0 || process.env["TEST_LONG"] || process.env["SVC_TEST_POSTGRES"];
const isLeftOut = (file) => !isWhole && file.startsWith("runtime/") && file !== "runtime/deploy.test.ts";

const files = readdirSync("test", { recursive: true })
  .map((name) => String(name).replaceAll("\\", "/"))
  .filter(
    (file) =>
      file.endsWith(".test.ts") &&
      // They need a server, which `npm run test:postgres` starts.
      (process.env.SVC_TEST_POSTGRES !== undefined || !file.startsWith("postgres/")) &&
      !isLeftOut(file) &&
      (filters.length === 0 || filters.some((filter) => `test/${file}`.includes(filter))),
  )
  .sort();
if (files.length === 0) {
  console.error("no test file matches", filters.join(" "));
  process.exit(1);
}
if (!flags.some((flag) => flag.startsWith("--test-reporter")))
  flags.push(`--test-reporter=${process.stdout.isTTY ? "spec" : "./test/reporter.mjs"}`);

/**
 * What each process runs: up to ten files of a folder, so that they start and warm up once. Files that start programs
 * themselves have a process each: those of `cli/` and those beside this one, and in a long run those with a browser. Short groups come last, so that no core is
 * left without work for long.
 */
function groups() {
  const alone = [".", "cli", ...(process.env["TEST_LONG"] ? ["dashboard"] : [])];
  const isAlone = (file) => alone.includes(dirname(file));
  const shared = files.filter((file) => !isAlone(file)).reverse();
  const folders = [...new Set(shared.map(dirname))].flatMap((name) => {
    const own = shared.filter((file) => dirname(file) === name);
    const count = Math.ceil(own.length / 10);
    return Array.from({ length: count }, (_, i) => own.filter((_, at) => at % count === i));
  });
  return [...files.filter(isAlone).map((file) => [file]), ...folders];
}

const folder = await compile();
const processes = groups().map((group, i) => {
  // Node runs them in the order of their names.
  const name = `${String(i).padStart(2, "0")}-${group[0]?.split("/", 1)}.js`;
  const path = join(folder, "dist/test", name);
  writeFileSync(path, group.map((file) => `import "./${file.replace(/ts$/, "js")}";\n`).join(""));
  return path;
});

// A process has up to ten files, and their long forms take minutes on a machine with other work. So do they on PostgreSQL,
// and with pauses.
const isLong = process.env["TEST_LONG"] || process.env["SVC_SERVER_DELIVERIES"];
const isSlow = process.env["SVC_TEST_POSTGRES"] || process.env["TEST_INTERLEAVE"];
const timeout_ms = isLong ? 3_600_000 : isSlow ? 900_000 : 240_000;

const command = [
  "--enable-source-maps",
  "--test",
  // One more than there are cores, since some of them wait for the disk; Node's own choice is one fewer.
  `--test-concurrency=${availableParallelism() + 1}`,
  `--test-timeout=${timeout_ms}`,
  ...flags,
  ...processes,
];
const tests = spawn(process.execPath, command, { stdio: "inherit" });
// Ctrl+C reaches the tests as well; this waits for their end, and takes the folder away.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => tests.kill(signal));
tests.on("exit", (code) => process.exit(code ?? 1));
