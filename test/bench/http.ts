import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { type Figure, figure, type Goal } from "./figures.ts";
import { type Bench, createLoad, inTurns, type Measured, type Rows, ratios, requests, start } from "./servers.ts";

/** A ratio is valid only where both servers do the same work: the same key gets the same records, apart from `meta`. */
async function compareAnswers(ours: string, limit: string, { key, ids }: Rows): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  for (const path of [`/v1/deployments/${ids[42]}`, "/v1/deployments"]) {
    const [mine, theirs] = await Promise.all(
      [ours, limit].map(async (url) => (await fetch(url + path, { headers })).json() as Promise<{ meta: unknown }>),
    );
    assert.deepEqual({ ...mine, meta: 0 }, { ...theirs, meta: 0 });
  }
}

interface Kind {
  readonly name: string;
  readonly key: keyof typeof requests;
  /** For processor time, against this limit. */
  readonly goals: Readonly<Record<string, Goal>>;
}
const kinds: readonly Kind[] = [
  { name: "GET by id", key: "get", goals: { limit: { floor: 0.6, aim: 0.75 } } },
  { name: "GET the list of 20", key: "list", goals: { limit: { floor: 0.7, aim: 0.9 } } },
  {
    name: "POST a deployment",
    key: "post",
    goals: { "limit, group commit": { floor: 0.6, aim: 0.8 }, "limit, a commit each": { floor: 2, aim: 3.5 } },
  },
  { name: "a mix by 50 keys with limits", key: "mix", goals: {} },
];

/**
 * Over HTTP against the limit, on 32 connections. The most repeatable ratio is that of processor time a request, above 1
 * where the service is cheaper. Against a commit for each request it is requests a second, since a sync costs no processor.
 */
export async function overHttp(bench: Bench, rows: Rows): Promise<Figure[]> {
  const load = createLoad(bench);
  const ours = await start(bench, rows, "ours", "own-service");
  const each = await start(bench, rows, "a commit each", "limit", "each");
  const group = await start(bench, rows, "group commit", "limit", "group");
  await compareAnswers(ours.url, each.url, rows);
  const figures: Figure[] = [];
  for (const { name, key, goals } of kinds) {
    const writes = key === "post" || key === "mix";
    const servers = writes ? [ours, each, group] : [ours, each];
    const round = { requests: requests[key](rows), keys: key === "mix" ? rows.keys : [rows.key] };
    const [mine = [], ...limits] = await inTurns(
      bench,
      load,
      servers.map((server) => [server, round]),
    );
    figures.push(...absolute(`${name}: ours`, mine));
    for (const [i, theirs] of limits.entries())
      figures.push(...compare(name, writes ? `limit, ${servers[i + 1]?.name}` : "limit", mine, theirs, goals));
  }
  figures.push(figure("the write-ahead log after all these writes", "MB", [statSync(`${ours.file}-wal`).size / 1e6]));
  await Promise.all([load, ours, each, group].map((one) => one.end()));
  return figures;
}

function absolute(name: string, measured: readonly Measured[]): Figure[] {
  const of = (part: keyof Measured) => measured.map((one) => one[part]);
  return [
    figure(`${name}, processor`, "µs", of("cpu_us")),
    figure(`${name}`, "a second", of("per_second")),
    figure(`${name}, 99th percentile`, "ms", of("p99_ms")),
  ];
}

function compare(
  name: string,
  limit: string,
  mine: readonly Measured[],
  theirs: readonly Measured[],
  goals: Kind["goals"],
): Figure[] {
  const ratio = `${name}: ratio to ${limit}`;
  const [ofProcessor, ofRequests] = limit.endsWith("each") ? [undefined, goals[limit]] : [goals[limit], undefined];
  return [
    ...absolute(`${name}: ${limit}`, theirs),
    figure(`${ratio}, processor`, "×", ratios(mine, theirs, "cpu_us", "less"), ofProcessor),
    figure(`${ratio}, requests a second`, "×", ratios(mine, theirs, "per_second", "more"), ofRequests),
    figure(`${ratio}, 99th percentile`, "×", ratios(mine, theirs, "p99_ms", "less"), { floor: 0.5, aim: 0.67 }),
  ];
}
