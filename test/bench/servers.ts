import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Asked, Loaded, Round } from "./load.ts";
import { source } from "./request-body.ts";

/** The folders of the bench, and how long it measures. */
export interface Bench {
  /** The bundled scripts of this folder. */
  readonly built: string;
  /** Databases, deleted at the end. */
  readonly folder: string;
  readonly rounds: number;
  /** The length of one round. */
  readonly ms: number;
}

/** The report of `rows.ts` about its database. */
export interface Rows {
  readonly file: string;
  /** The owner's. */
  readonly key: string;
  /** Keys of the same organization, each with its own rate window. */
  readonly keys: readonly string[];
  readonly project_id: string;
  /** Ten thousand of them at most, spread over the table. */
  readonly ids: readonly string[];
}

/** An HTTP server in its own process. */
export interface Server {
  readonly name: string;
  readonly url: string;
  /** Its database, if any. */
  readonly file?: string;
  /** Processor time so far, in microseconds; NaN where it is unknown. */
  cpu(): Promise<number>;
  end(): Promise<unknown>;
}

/**
 * Pins a process with all its threads to one processor: the servers to one, the load to another, so that neither takes
 * time from the other. Without Linux's `taskset` the system decides.
 */
export function pin({ pid }: { readonly pid?: number | undefined }, part: keyof typeof processors): void {
  if (availableParallelism() < 2) return;
  spawnSync("taskset", ["-a", "-c", "-p", processors[part], String(pid)], { stdio: "ignore" });
}
const last = availableParallelism() - 1;
const processors = {
  load: "0",
  servers: "1",
  /** Without three processors it has no own one. */
  database: last >= 3 ? String(last) : "0",
  several: last >= 3 ? `1-${last - 1}` : "1",
};

/** Sends a message to a child process and waits for its reply. */
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

/** A server on its own copy of the database. */
export async function start(
  bench: Bench,
  rows: Rows,
  name: string,
  script: "own-service" | "limit",
  ...more: string[]
): Promise<Server & { readonly file: string }> {
  const file = join(bench.folder, `${name}.db`);
  copyFileSync(rows.file, file);
  copyFileSync(`${rows.file}.key`, `${file}.key`);
  return { ...(await forked(bench, name, script, [file, ...more])), file };
}

/** The service on a database of PostgreSQL. */
export const forkServer = (
  bench: Bench,
  name: string,
  url: string,
  key: string,
  seed = "",
  part: "servers" | "several" = "servers",
): Promise<Server> => forked(bench, name, "own-service", [url, key, seed], part);

async function forked(
  { built }: Bench,
  name: string,
  script: string,
  words: readonly string[],
  part: "servers" | "several" = "servers",
): Promise<Server> {
  const child = fork(join(built, `${script}.js`), words, { execArgv: [] });
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  pin(child, part);
  const cpu = async () => {
    const { user, system } = await ask<NodeJS.CpuUsage>(child, "cpu");
    return user + system;
  };
  return { name, url, cpu, end: () => ended(child) };
}

export interface Measured extends Loaded {
  readonly cpu_us: number;
}

/** The load generator, in its own process. */
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

/** The requests to one server in every round. */
export type Task = readonly [server: Server, round: Omit<Round, "url" | "ms">];

const warm_ms = 4_000;

/** Short interleaved rounds, so that a slow moment of the machine affects all servers. Returns the rounds of each. */
export async function inTurns({ rounds, ms }: Bench, load: Load, tasks: readonly Task[]): Promise<Measured[][]> {
  const results: Measured[][] = tasks.map(() => []);
  // V8 finishes optimizing a path only after some ten thousand requests.
  for (const [server, round] of tasks) await load.measure(server, { ...round, ms: warm_ms });
  for (let i = 0; i < rounds; i++)
    for (const [at, [server, round]] of i % 2 ? [...tasks.entries()].reverse() : tasks.entries())
      results[at]?.push(await load.measure(server, { ...round, ms }));
  return results;
}

/** One measure of each round of two servers as a ratio: above 1 where `mine` is better. */
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

/** The measured requests; every server has these rows. */
export const requests = {
  get: ({ ids }: Rows): Asked[] => ids.map((id) => ({ path: `/v1/deployments/${id}` })),
  list: (): Asked[] => [{ path: "/v1/deployments" }],
  post: ({ project_id }: Rows): Asked[] => [
    { path: "/v1/deployments", body: { project_id, environment: "production", source } },
  ],
  /** Four reads for each write. */
  mix: (rows: Rows): Asked[] => [...requests.get(rows).slice(0, 3), ...requests.list(), ...requests.post(rows)],
} as const;
