// `npm test [filter …] [--node-flag …]` on Node 20, 22 and 24, in any shell. Node 20 does not expand globs, and
// silently finds nothing in a folder.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { dirname, join } from "node:path/posix";
import { pathToFileURL } from "node:url";
import { compile } from "./compile.mjs";
import { report } from "./profile.mjs";

const words = process.argv.slice(2);
const filters = words.filter((word) => !word.startsWith("-"));
const own = ["--quick", "--rest", "--profile"];
const flags = words.filter((word) => word.startsWith("-") && !own.includes(word));
const isProfiled = words.includes("--profile");
const isOnPostgres = process.env["SVC_TEST_POSTGRES"] !== undefined;
const isLong = process.env["TEST_LONG"] !== undefined;

/**
 * What `npm test` leaves to `npm run test:all` (`--rest`): files that start programs, and real deployments. Every
 * command starts once all the same, and one file really deploys.
 */
const startsPrograms =
  /helpers\/(behind-nginx|browser|bundle|child-processes|closed-network|in-shell|killed-answers|program|running-apps|small-disk)\.ts"/;
const isQuick = (file) =>
  ["cli/starts.test.ts", "runtime/deploy.test.ts"].includes(file) ||
  !(file.startsWith("runtime/") || startsPrograms.test(readFileSync(join("test", file), "utf8")));
/** On PostgreSQL: what reaches a database in this process, and the real deployments that use its rows most. */
const isForPostgres = (file) =>
  file.startsWith("runtime/")
    ? /\/(comeback|data|deploy|domains|previews|protected|push-to-deploy|removal|restart|schedules|switch)\./.test(file)
    : file.startsWith("postgres/") ||
      (isQuick(file) && !/^(architecture|client|kernel|outbound|painter)\/|^[^/]+$/.test(file));

const isWanted = (file) => {
  if (file.startsWith("postgres/") && !isOnPostgres) return false;
  if (filters.length > 0 && !filters.some((filter) => `test/${file}`.includes(filter))) return false;
  // The dashboard and the runtimes have commands of their own.
  if (words.includes("--rest")) return !isQuick(file) && !/^(dashboard|runtime)\//.test(file);
  if (words.includes("--quick")) return isQuick(file);
  if (filters.length > 0 || isLong) return true;
  return isOnPostgres ? isForPostgres(file) : isQuick(file);
};
const files = readdirSync("test", { recursive: true })
  .map((name) => String(name).replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".test.ts") && isWanted(file))
  .sort();
if (files.length === 0) {
  console.error("no test file matches", filters.join(" "));
  process.exit(1);
}
if (!flags.some((flag) => flag.startsWith("--test-reporter"))) flags.push("--test-reporter=./test/reporter.mjs");

/**
 * The test files of each process: up to twenty files of a folder, so they share one start and warm-up. Alone are those
 * in this folder, and in a long run those with a browser. Small groups come last, so no core idles for long.
 */
function groups() {
  const alone = [".", ...(isLong ? ["dashboard"] : [])];
  const isAlone = (file) => isProfiled || alone.includes(dirname(file));
  const shared = files.filter((file) => !isAlone(file)).reverse();
  const folders = [...new Set(shared.map(dirname))].flatMap((name) => {
    const inside = shared.filter((file) => dirname(file) === name);
    const count = Math.ceil(inside.length / 20);
    return Array.from({ length: count }, (_, i) => inside.filter((_, at) => at % count === i));
  });
  return [...files.filter(isAlone).map((file) => [file]), ...folders.sort((a, b) => b.length - a.length)];
}

const folder = await compile();
const processes = groups().map((group, i) => {
  // Node runs the files in name order.
  const name = `${String(i).padStart(3, "0")}-${group[0]?.split("/", 1)}.js`;
  const path = join(folder, "dist/test", name);
  const modules = group.map((file) => `./${file.replace(/ts$/, "js")}`);
  const profiled = `import { profile } from "${pathToFileURL("test/profile.mjs")}";
const loaded = profile("${group[0]}", ${JSON.stringify(folder)});
await import("${modules[0]}");
loaded();
`;
  writeFileSync(path, isProfiled ? profiled : modules.map((module) => `import "${module}";\n`).join(""));
  return path;
});

// For what hangs: nothing may depend on how fast a machine is.
const timeout_ms = isLong || isOnPostgres || process.env["SVC_SERVER_DELIVERIES"] ? 3_600_000 : 1_200_000;

const command = [
  "--enable-source-maps",
  `--require=${resolve("test/lean-runner.cjs")}`,
  "--disable-warning=ExperimentalWarning",
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
// The time limit of a test does not end its process.
setTimeout(() => {
  console.error(`The tests did not end within ${(2 * timeout_ms) / 60_000} minutes, and are killed.`);
  kill("SIGKILL");
}, 2 * timeout_ms).unref();
tests.on("exit", (code) => {
  if (isProfiled) console.log(report(folder));
  process.exit(code ?? 1);
});
