// `node test/run.mjs --profile`: the processor seconds of each file of tests, in a process of its own, and the dearest
// tests. Processor seconds depend less than a clock on what else the machine does.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach } from "node:test";

/** Processor seconds of this process, and of its children that have ended (on Linux, in hundredths). */
function used() {
  const { user, system } = process.cpuUsage();
  let children = 0;
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    children = (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    // Not Linux: the children are left out.
  }
  return { own: (user + system) / 1e6, children };
}

/** Called before a file of tests is loaded. Returns what to call after it; its figures go into `folder`. */
export function profile(file, folder) {
  const started = used();
  let atLoad = started;
  const tests = [];
  let before = started;
  const isSubtest = (t) => t.fullName.includes(" > ");
  beforeEach((t) => {
    if (!isSubtest(t)) before = used();
  });
  afterEach((t) => {
    const now = used();
    if (!isSubtest(t))
      tests.push({ name: `${file}: ${t.name}`, values: [now.own - before.own, now.children - before.children] });
  });
  process.on("exit", () => {
    const { own, children } = used();
    const values = [started.own, atLoad.own - started.own, own - atLoad.own, children];
    writeFileSync(join(folder, `${process.pid}.profile.json`), JSON.stringify({ name: file, values, tests }));
  });
  return () => {
    atLoad = used();
  };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const line = ({ values, name }) =>
  `${[...values, sum(values)].map((value) => value.toFixed(2).padStart(9)).join("")}  ${name}`;
const dearestFirst = (lines) => lines.sort((a, b) => sum(b.values) - sum(a.values));

/** A line for each file, and the ten dearest tests. */
export function report(folder) {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".profile.json"))
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
  const all = [0, 1, 2, 3].map((at) => sum(files.map(({ values }) => values[at])));
  return [
    "    start     load    tests children      all  file",
    ...dearestFirst(files).map(line),
    line({ values: all, name: `${files.length} files` }),
    "",
    "    tests children      all  the ten dearest tests",
    ...dearestFirst(files.flatMap(({ tests }) => tests))
      .slice(0, 10)
      .map(line),
    "",
  ].join("\n");
}
