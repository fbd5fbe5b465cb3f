// `npm test [filter …] [--node-flag …]` on Node 20, 22 and 24, in any shell. Node 20 does not expand globs, and
// silently finds nothing in a folder.
import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path/posix";
import { compile } from "./compile.mjs";

const words = process.argv.slice(2);
const flags = words.filter((word) => word.startsWith("-"));
const filters = words.filter((word) => !word.startsWith("-"));
/**
 * Tests of real deployments have their own command, `npm run test:runtime`: they take half as long as all other tests
 * together. On SQLite and without a filter, only one of their files runs.
 */
const isWhole = filters.length > 0 || process.env["TEST_LONG"] || process.env["SVC_TEST_POSTGRES"];
const isLeftOut = (file) => !isWhole && file.startsWith("runtime/") && file !== "runtime/deploy.test.ts";

const files = readdirSync("test", { recursive: true })
  .map((name) => String(name).replaceAll("\\", "/"))
  .filter(
    (file) =>
      file.endsWith(".test.ts") &&
      // These need a server, which `npm run test:postgres` starts.
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
 * The test files of each process: up to ten files of a folder, so they share one start and warm-up. Files that start
 * programs have a process each: those of `cli/`, those in this folder, and in a long run those with a browser. Short
 * groups come last, so no core idles for long.
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
  // Node runs the files in name order.
  const name = `${String(i).padStart(2, "0")}-${group[0]?.split("/", 1)}.js`;
  const path = join(folder, "dist/test", name);
  writeFileSync(path, group.map((file) => `import "./${file.replace(/ts$/, "js")}";\n`).join(""));
  return path;
});

// A process has up to ten files. In a long run they take minutes on a busy machine, and so they do on PostgreSQL and
// with pauses.
const isLong = process.env["TEST_LONG"] || process.env["SVC_SERVER_DELIVERIES"];
const isSlow = process.env["SVC_TEST_POSTGRES"] || process.env["TEST_INTERLEAVE"];
const timeout_ms = isLong ? 3_600_000 : isSlow ? 900_000 : 240_000;

const command = [
  "--enable-source-maps",
  "--test",
  // One more than the number of cores, because some tests wait for the disk. Node's default is one fewer than the
  // cores.
  `--test-concurrency=${availableParallelism() + 1}`,
  `--test-timeout=${timeout_ms}`,
  ...flags,
  ...processes,
];
// In a group of their own, so that what hangs can be killed with its processes.
const hasGroups = process.platform !== "win32";
const tests = spawn(process.execPath, command, { stdio: "inherit", detached: hasGroups });
const kill = (signal) => {
  try {
    if (hasGroups) process.kill(-tests.pid, signal);
    else tests.kill(signal);
  } catch (error) {
    // They have ended.
    if (error.code !== "ESRCH") throw error;
  }
};
// This waits for their end and then removes the folder.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => kill(signal));
// The time limit of a test does not end its process, so a file that hangs would hold the run for ever.
setTimeout(() => {
  console.error(`The tests did not end within ${(6 * timeout_ms) / 60_000} minutes, and are killed.`);
  kill("SIGKILL");
}, 6 * timeout_ms).unref();
tests.on("exit", (code) => process.exit(code ?? 1));
