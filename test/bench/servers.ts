import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Asked, Loaded, Round } from "./load.ts";
import { source } from "./order.ts";

/** Where the bench keeps what it makes, and how long it measures. */
export interface Bench {
  /** The bundled scripts of this folder. */
  readonly built: string;
  /** Databases, thrown away at the end. */
  readonly folder: string;
  readonly rounds: number;
  /** Of one round. */
  readonly ms: number;
}

/** What `rows.ts` tells of the database that it made. */
export interface Rows {
  readonly file: string;
  /** The owner's. */
  readonly key: string;
  /** Of the same organization, each with a window of its own. */
  readonly keys: readonly string[];
  readonly project_id: string;
  /** Ten thousand of them at most, spread over the table. */
  readonly ids: readonly string[];
}

/** Something that answers HTTP, in a process of its own. */
export interface Server {
  readonly name: string;
  readonly url: string;
  /** Its database, where it has one. */
  readonly file?: string;
  /** Microseconds of processor time so far; not a number where it cannot be asked. */
  cpu(): Promise<number>;
  end(): Promise<unknown>;
}

/**
 * Keeps a process, with all its threads, to one processor: the servers to one, whoever sends to another, so that neither
 * takes time from the other. Where there is no `taskset`, which is Linux's, the machine decides.
 */
export function pin(child: ChildProcess, part: "servers" | "load"): void {
  if (availableParallelism() < 2) return;
  spawnSync("taskset", ["-a", "-c", "-p", part === "load" ? "0" : "1", String(child.pid)], { stdio: "ignore" });
}

/** Sends a message to a child and waits for its answer. */
async function ask<T>(child: ChildProcess, what: object | string): Promise<T> {
  const answer = once(child, "message");
  child.send(what);
  return (await answer)[0] as T;
}

const ended = (child: ChildProcess) => {
  const exit = once(child, "exit");
  child.send("end");
  return exit;
};

/** A server on a copy of the database of its own. */
export async function start(
  { built, folder }: Bench,
  rows: Rows,
  name: string,
  script: "ours" | "limit",
  ...more: string[]
): Promise<Server & { readonly file: string }> {
  const file = join(folder, `${name}.db`);
  copyFileSync(rows.file, file);
  copyFileSync(`${rows.file}.key`, `${file}.key`);
  const child = fork(join(built, `${script}.js`), [file, ...more], { execArgv: [] });
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  pin(child, "servers");
  const cpu = async () => {
    const { user, system } = await ask<NodeJS.CpuUsage>(child, "cpu");
    return user + system;
  };
  return { name, url, file, cpu, end: () => ended(child) };
}

export interface Measured extends Loaded {
  readonly cpu_us: number;
}

/** The process that sends, apart from all that answer. */
export function createLoad({ built }: Bench) {
  const child = fork(join(built, "load.js"), [], { execArgv: [] });
  pin(child, "load");
  return {
    async measure(server: Server, round: Omit<Round, "url">): Promise<Measured> {
      const before = await server.cpu();
      const loaded = await ask<Loaded>(child, { ...round, url: server.url } satisfies Round);
      return { ...loaded, cpu_us: ((await server.cpu()) - before) / loaded.requests };
    },
    end: () => ended(child),
  };
}
export type Load = ReturnType<typeof createLoad>;

/** What one server is sent in every round. */
export type Task = readonly [server: Server, round: Omit<Round, "url" | "ms">];

const warm_ms = 4_000;

/** Short rounds in turns, so that a slow moment of the machine strikes all alike. Answers the rounds of each. */
export async function inTurns({ rounds, ms }: Bench, load: Load, tasks: readonly Task[]): Promise<Measured[][]> {
  const results: Measured[][] = tasks.map(() => []);
  // The compiler of the engine is done with a path only after some ten thousand requests.
  for (const [server, round] of tasks) await load.measure(server, { ...round, ms: warm_ms });
  for (let i = 0; i < rounds; i++)
    for (const [at, [server, round]] of i % 2 ? [...tasks.entries()].reverse() : tasks.entries())
      results[at]?.push(await load.measure(server, { ...round, ms }));
  return results;
}

/** One part of the rounds of one server, against the same of another: above 1 where `mine` is the better one. */
export function ratios(
  mine: readonly Measured[],
  theirs: readonly Measured[],
  part: keyof Measured,
  better: "less" | "more",
): number[] {
  return theirs.map((other, i) => {
    const one = mine[i]?.[part] ?? Number.NaN;
    return better === "less" ? other[part] / one : one / other[part];
  });
}

/** The requests that are measured; every server has these rows. */
export const requests = {
  get: ({ ids }: Rows): Asked[] => ids.map((id) => ({ path: `/v1/deployments/${id}` })),
  list: (): Asked[] => [{ path: "/v1/deployments" }],
  post: ({ project_id }: Rows): Asked[] => [
    { path: "/v1/deployments", body: { project_id, environment: "production", source } },
  ],
  /** Four that read for each that writes. */
  mix: (rows: Rows): Asked[] => [...requests.get(rows).slice(0, 3), ...requests.list(), ...requests.post(rows)],
} as const;
