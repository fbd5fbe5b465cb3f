import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { readArguments } from "./arguments.ts";
import { type Figure, figure, missesItsFloor, table } from "./figures.ts";
import { growth } from "./growth.ts";
import { overHttp } from "./http.ts";
import { packed } from "./packed.ts";
import { besidePeers } from "./peers.ts";
import { onPostgres } from "./postgres.ts";
import type { Bench, Rows } from "./servers.ts";

const here = import.meta.dirname;
/** Runs a script of this folder in a new process and returns the JSON that the script prints. */
function run<T>(script: string, args: readonly string[], flags: readonly string[] = []): T {
  const { stdout, status } = spawnSync(process.execPath, [...flags, script, ...args], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`${script} failed`);
  return JSON.parse(stdout) as T;
}

const made = new Map<number, Rows>();
/** A database with the given number of deployments, made once. */
function rows(count: number): Rows {
  const known = made.get(count) ?? run<Rows>(join(built, "rows.js"), [join(folder, `${count}.db`), String(count)]);
  made.set(count, known);
  return known;
}

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
    figure("createService() in memory and close, warm", "ms", of("warm"), { floor: 5, aim: 1 }),
  ];
}

const parts: Readonly<Record<string, () => Figure[] | Promise<Figure[]>>> = {
  starts,
  packed: () => packed(bench, rows(10_000)),
  inside: () => run(join(built, "inside.js"), []),
  worlds: () => run(join(built, "worlds.js"), [folder, peers && resolve(peers)]),
  jobs: () => run(join(built, "jobs.js"), [folder, peers && resolve(peers), postgres]),
  deliveries: () => run(join(built, "deliveries.js"), [folder]),
  deploy: () => run(join(built, "deploy.js"), [folder]),
  apps: () => run(join(built, "beside-apps.js"), [folder]),
  streams: () => run(join(built, "streams.js"), [folder], ["--expose-gc"]),
  media: () => run(join(built, "media.js"), []),
  edges: () => run(join(built, "edges.js"), [folder]),
  http: () => overHttp(bench, rows(10_000)),
  peers: () => besidePeers(bench, rows(10_000), peers, postgres),
  dashboard: () => {
    const { file, key } = rows(100_000);
    return run(join(built, "dashboard.js"), [file, key, "100000"]);
  },
  postgres: () => onPostgres(bench, rows(1_000), postgres),
  growth: () => growth(bench, rows(1_000), rows(1_000_000), "1,000 rows against 1,000,000"),
};
const long = ["growth", "dashboard", "postgres"];
const { parts: names, rounds, json, peers, postgres } = readArguments(Object.keys(parts), long);
// Below node_modules, so that unbundled packages resolve. One folder for each run, so that runs do not overwrite each
// other.
const built = resolve(here, `../../node_modules/.cache/svc-server-bench-${process.pid}`);
const folder = mkdtempSync(join(tmpdir(), "svc-server-bench-"));
const bench: Bench = { built, folder, rounds: rounds, ms: 600 };

/** Bundles the scripts for plain Node, as users run the package. tsx would add a call for each function created. */
async function bundle(): Promise<void> {
  const scripts = [
    "starts",
    "inside",
    "rows",
    "own-service",
    "delay",
    "limit",
    "limit-postgres",
    "load",
    "deliveries",
    "deploy",
    "beside-apps",
    "dashboard",
    "receiver",
    "streams",
    "media",
    "edges",
    "reader",
    "jobs",
    "worlds",
  ];
  await build({
    entryPoints: {
      ...Object.fromEntries(scripts.map((name) => [name, join(here, `${name}.ts`)])),
      claimers: resolve(here, "../postgres/claimers.child.ts"),
      "svc-server": resolve(here, "../../bin/svc-server.ts"),
    },
    outdir: built,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external: [
      "better-sqlite3",
      "pg",
      "ws",
      "playwright-core",
      "@jsquash/*",
      "h264-mp4-encoder",
      "nodemailer",
      "openid-client",
      "oidc-provider",
      "smtp-server",
    ],
    outExtension: { ".js": ".js" },
    logLevel: "warning",
  });
  writeFileSync(join(built, "package.json"), '{"type":"module","version":"0.0.0"}');
  const { writePage } = await import(pathToFileURL(resolve(here, "../../.scripts/page.mjs")).href);
  await writePage(join(built, "dist/dashboard"));
}

try {
  await bundle();
  const figures: Figure[] = [];
  for (const name of names) {
    const some = await parts[name]?.();
    process.stdout.write(`\n${name}\n${table(some ?? [])}\n`);
    figures.push(...(some ?? []));
  }
  const { version, platform, arch } = process;
  const machine = { node: version, platform, arch, processors: availableParallelism(), processor: cpus()[0]?.model };
  const missed = figures.filter(missesItsFloor);
  if (missed.length > 0) {
    process.stderr.write(`\nbelow their floors: ${missed.map(({ name }) => name).join("; ")}\n`);
    process.exitCode = 1;
  }
  if (json) writeFileSync(json, `${JSON.stringify({ machine, figures }, null, 2)}\n`);
} finally {
  for (const made of [built, folder]) rmSync(made, { recursive: true, force: true });
}
