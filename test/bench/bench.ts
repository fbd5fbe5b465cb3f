import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { type Figure, figure, table } from "./figures.ts";
import { overHttp, type Rows } from "./http.ts";

/**
 * `npm run bench [-- --json FILE] [--rounds 5]`: the figures of the README. It asserts nothing: a machine's mood is no
 * fault of the code, and only ratios within one run are worth comparing.
 */
const { values } = parseArgs({ options: { json: { type: "string" }, rounds: { type: "string", default: "5" } } });
const round_ms = 600;
const rowsOverHttp = 10_000;

const here = import.meta.dirname;
const built = resolve(here, "../../node_modules/.cache/svc-server-bench");
const folder = mkdtempSync(join(tmpdir(), "svc-server-bench-"));

/** Runs a script of this folder in a fresh process, and answers the JSON that it printed. */
function run<T>(script: string, args: readonly string[], flags: readonly string[] = []): T {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, script, ...args], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${script} failed:\n${stderr}`);
  return JSON.parse(stdout) as T;
}

/** As users get it: bundled, on plain Node. Through tsx every function that is made would cost a call more. */
await build({
  entryPoints: ["starts", "inside", "rows", "ours", "limit", "load", "deliveries", "receiver", "streams", "reader"].map(
    (name) => join(here, `${name}.ts`),
  ),
  outdir: built,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  external: ["better-sqlite3", "ws"],
  outExtension: { ".js": ".js" },
  logLevel: "warning",
});
writeFileSync(join(built, "package.json"), '{"type":"module"}');

function starts(): Figure[] {
  const dist = resolve(here, "../../dist/lib/index.js");
  const [file, flags, what] = existsSync(dist)
    ? ([dist, [], "built"] as const)
    : ([resolve(here, "../../lib/index.ts"), ["--import", "tsx"], "sources through tsx, as nothing is built"] as const);
  const all = Array.from({ length: 5 }, () =>
    run<Record<"imported" | "first" | "warm", number>>(
      join(flags.length ? here : built, flags.length ? "starts.ts" : "starts.js"),
      [pathToFileURL(file).href],
      flags,
    ),
  );
  const of = (part: "imported" | "first" | "warm") => all.map((one) => one[part]);
  return [
    figure(`import (${what})`, "ms", of("imported")),
    figure("createService() in memory and close, the first", "ms", of("first")),
    figure("createService() in memory and close, warm", "ms", of("warm")),
  ];
}

try {
  const figures = [...starts(), ...run<Figure[]>(join(built, "inside.js"), [])];
  figures.push(...run<Figure[]>(join(built, "deliveries.js"), [folder]));
  figures.push(...run<Figure[]>(join(built, "streams.js"), [folder], ["--expose-gc"]));
  const rows = run<Rows>(join(built, "rows.js"), [join(folder, "rows.db"), String(rowsOverHttp)]);
  figures.push(...(await overHttp(built, folder, rows, Number(values.rounds), round_ms)));
  process.stdout.write(`${table(figures)}\n`);
  const { version, platform, arch } = process;
  const machine = { node: version, platform, arch, processors: availableParallelism() };
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ machine, figures }, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
