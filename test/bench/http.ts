import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type Figure, figure } from "./figures.ts";
import type { Loaded, Round } from "./load.ts";

/** What `rows.ts` tells of the database that it made. */
export type Rows = Pick<Round, "key" | "project_id" | "ids">;

interface Measured extends Loaded {
  readonly cpu_us: number;
}

/** Sends a message to a child and waits for its answer. */
async function ask<T>(child: ChildProcess, what: object | string): Promise<T> {
  const answer = once(child, "message");
  child.send(what);
  return (await answer)[0] as T;
}

/** A server in a process of its own, on a copy of the database of its own. */
async function start(built: string, folder: string, name: string, script: string, ...more: string[]) {
  const file = join(folder, `${name}.db`);
  copyFileSync(join(folder, "rows.db"), file);
  if (script === "ours") copyFileSync(join(folder, "rows.db.key"), `${file}.key`);
  const child = fork(join(built, `${script}.js`), [file, ...more], { execArgv: [] });
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  return { name, child, url };
}

/** A ratio means something only where both do the same: the same key gets the same records, beside their `meta`. */
async function compareAnswers(ours: string, limit: string, { key, ids }: Rows): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  for (const path of [`/v1/deployments/${ids[42]}`, "/v1/deployments"]) {
    const [mine, theirs] = await Promise.all(
      [ours, limit].map(async (url) => (await fetch(url + path, { headers })).json() as Promise<{ meta: unknown }>),
    );
    assert.deepEqual({ ...mine, meta: 0 }, { ...theirs, meta: 0 });
  }
}

const kinds = { get: "GET by id", list: "GET the list of 20", post: "POST a deployment" } as const;
type Kind = keyof typeof kinds;

/**
 * Over HTTP against the limit, at 32 connections: short rounds in turns, so that a slow moment of the machine strikes
 * all alike. The ratio that repeats best is that of processor time a request, above 1 where the service is cheaper.
 */
export async function overHttp(
  built: string,
  folder: string,
  rows: Rows,
  rounds: number,
  ms: number,
): Promise<Figure[]> {
  const load = fork(join(built, "load.js"), [], { execArgv: [] });
  const ours = await start(built, folder, "ours", "ours");
  const each = await start(built, folder, "a commit each", "limit", "each");
  const group = await start(built, folder, "group commit", "limit", "group");
  await compareAnswers(ours.url, each.url, rows);
  type Server = typeof ours;

  const measure = async ({ child, url }: Server, kind: Kind, time: number): Promise<Measured> => {
    const before = await ask<NodeJS.CpuUsage>(child, "cpu");
    const loaded = await ask<Loaded>(load, { ...rows, url, kind, ms: time } satisfies Round);
    const after = await ask<NodeJS.CpuUsage>(child, "cpu");
    const used = after.user - before.user + after.system - before.system;
    return { ...loaded, cpu_us: used / loaded.requests };
  };

  const figures: Figure[] = [];
  for (const kind of Object.keys(kinds) as Kind[]) {
    const servers = kind === "post" ? [ours, each, group] : [ours, each];
    const results = new Map(servers.map((server) => [server, [] as Measured[]]));
    // The compiler of the engine is done with a path only after some ten thousand requests.
    for (const server of [...servers, ...servers]) await measure(server, kind, ms);
    for (let i = 0; i < rounds; i++)
      for (const server of i % 2 ? servers.toReversed() : servers)
        results.get(server)?.push(await measure(server, kind, ms));
    figures.push(
      ...compare(
        kinds[kind],
        results.get(ours) ?? [],
        [...results].map(([{ name }, all]) => [name, all] as const),
      ),
    );
  }
  for (const child of [load, ours.child, each.child, group.child]) child.send("end");
  await Promise.all([load, ours.child, each.child, group.child].map((child) => once(child, "exit")));
  return figures;
}

function compare(
  kind: string,
  mine: readonly Measured[],
  all: readonly (readonly [string, readonly Measured[]])[],
): Figure[] {
  return all.flatMap(([name, measured]) => {
    const of = (part: keyof Measured) => measured.map((one) => one[part]);
    const limit = name === "ours" ? "ours" : kind.startsWith("POST") ? `limit, ${name}` : "limit";
    const ratio = (part: keyof Measured, better: "less" | "more") =>
      measured.map((one, i) =>
        better === "less" ? one[part] / (mine[i]?.[part] ?? 0) : (mine[i]?.[part] ?? 0) / one[part],
      );
    const absolute = [
      figure(`${kind}: ${limit}, processor`, "µs", of("cpu_us")),
      figure(`${kind}: ${limit}`, "a second", of("per_second")),
      figure(`${kind}: ${limit}, 99th percentile`, "ms", of("p99_ms")),
    ];
    if (name === "ours") return absolute;
    return [
      ...absolute,
      figure(`${kind}: ratio to ${limit}, processor`, "×", ratio("cpu_us", "less")),
      figure(`${kind}: ratio to ${limit}, requests a second`, "×", ratio("per_second", "more")),
      figure(`${kind}: ratio to ${limit}, 99th percentile`, "×", ratio("p99_ms", "less")),
    ];
  });
}
