import assert from "node:assert/strict";
import { type Figure, figure, type Goal } from "./figures.ts";
import { type Bench, inTurns, type Load, type Measured, type Rows, ratios, requests, type Server } from "./servers.ts";

const connections = [1, 8, 32, 256] as const;
/** The goals apply at this number of connections. */
const goalsAt = 32;

/**
 * Goals for requests a second, as a share of the limit's. All share one goal for the 99th percentile: two and a half times
 * the limit's at most.
 */
export type Goals = Readonly<Record<"get" | "list" | "post", Goal>>;
const ofTail: Goal = { floor: 2.5, aim: 1.3 };

const kinds = { get: "GET by id", list: "GET the list of 20", post: "POST a deployment" } as const;

/**
 * A ratio is valid only if both servers do the same work: a key gets the same records from both, apart from `meta` and
 * `created_by`.
 */
async function compareAnswers(ours: string, limit: string, { key, ids, project_id }: Rows): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async (url: string, path: string, body?: object) => {
    const post = body && { method: "POST", body: JSON.stringify(body) };
    const text = await (await fetch(url + path, { headers, ...post })).text();
    return JSON.parse(text, (name, value) => (["meta", "created_by"].includes(name) ? undefined : value));
  };
  for (const path of [`/v1/deployments/${ids[42]}`, "/v1/deployments"])
    assert.deepEqual(await ask(ours, path), await ask(limit, path));
  const [{ path = "", body } = {}] = requests.post({ project_id });
  const made = await Promise.all([ours, limit].map((url) => ask(url, path, body)));
  const [mine = [], theirs = []] = made.map((record) => Object.keys(record));
  assert.deepEqual(mine, theirs);
}

/**
 * The packed program and the limit under the same load: requests a second, latencies, processor time, and their ratios.
 * Above 1 the service is better, except in the ratio of the 99th percentile.
 */
export async function besideLimit(
  bench: Bench,
  load: Load,
  [ours, limit]: readonly [Server, Server],
  rows: Rows,
  goals: Goals,
): Promise<Figure[]> {
  await compareAnswers(ours.url, limit.url, rows);
  const figures: Figure[] = [];
  for (const kind of ["get", "list", "post"] as const)
    for (const count of connections) {
      const round = { requests: requests[kind](rows), keys: [rows.key], connections: count };
      const [mine = [], theirs = []] = await inTurns(bench, load, [
        [ours, round],
        [limit, round],
      ]);
      const name = `${kinds[kind]}, ${count} ${count === 1 ? "connection" : "connections"}`;
      const isGoal = count === goalsAt;
      figures.push(
        ...absolute(`${name}: ours`, mine),
        ...absolute(`${name}: limit`, theirs),
        figure(
          `${name}: requests a second, of the limit's`,
          "×",
          ratios(mine, theirs, "per_second", "more"),
          isGoal ? goals[kind] : undefined,
        ),
        figure(`${name}: processor, the limit's of ours`, "×", ratios(mine, theirs, "cpu_us", "less")),
        figure(
          `${name}: 99th percentile, of the limit's`,
          "×",
          ratios(mine, theirs, "p99_ms", "more"),
          isGoal ? ofTail : undefined,
        ),
      );
    }
  return figures;
}

function absolute(name: string, measured: readonly Measured[]): Figure[] {
  const of = (part: keyof Measured) => measured.map((one) => one[part]);
  return [
    figure(name, "a second", of("per_second")),
    figure(`${name}, median`, "ms", of("p50_ms")),
    figure(`${name}, 99th percentile`, "ms", of("p99_ms")),
    figure(`${name}, processor`, "µs", of("cpu_us")),
  ];
}
