import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Asked, Loaded, Round } from "./load.ts";
import { pin, processorOf } from "./processors.ts";
import { source } from "./request-body.ts";
import { hasWrk, loadByWrk } from "./wrk.ts";

/** The folders of the bench, and the number and length of rounds. */
export interface Bench {
  /** The bundled scripts of this folder. */
  readonly built: string;
  /** Databases, deleted at the end. */
  readonly folder: string;
  readonly rounds: number;
  /** The length of one round. */
  readonly ms: number;
}

/** The output of `rows.ts` about its database. */
export interface Rows {
  readonly file: string;
  /** The owner's key. */
  readonly key: string;
  /** Keys of the same organization, each with its own rate window. */
  readonly keys: readonly string[];
  readonly project_id: string;
  /** Ten thousand identifiers at most, spread over the table. */
  readonly ids: readonly string[];
}

/** An HTTP server in its own process. */
export interface Server {
  readonly name: string;
  readonly url: string;
  /** The file of its database, if any. */
  readonly file?: string;
  /** Processor time so far, in microseconds; NaN if unknown. */
  cpu(): Promise<number>;
  end(): Promise<unknown>;
}

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

/** Copies the database and its key. */
export function copyOf({ folder }: Bench, rows: Rows, name: string): string {
  const file = join(folder, `${name}.db`);
  copyFileSync(rows.file, file);
  copyFileSync(`${rows.file}.key`, `${file}.key`);
  return file;
}

/** The service on its own copy of the database. */
export const start = (bench: Bench, rows: Rows, name: string): Promise<Server> =>
  forked(bench, name, "own-service", [copyOf(bench, rows, name)]);

/** Starts a program in its own process; the first line of its output holds its address, as JSON. */
export interface Program extends Server {
  readonly child: ChildProcess;
}

async function launch(
  name: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const child = spawn(process.execPath, words, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  // Unread output would fill the pipe.
  child.stdout.resume();
  pin(child, "servers");
  const { url } = JSON.parse(line) as { url: string };
  const end = () => {
    const exit = once(child, "exit");
    child.kill();
    return exit;
  };
  return { name, url, cpu: async () => processorOf(child.pid), end, child };
}

/** The program as packed. Needs `npm run build`. */
export function packedProgram(): string {
  const program = resolve(import.meta.dirname, "../../dist/bin/svc-server.js");
  if (!existsSync(program)) throw new Error("nothing is built; run npm run build first");
  return program;
}

/** The systemd unit and the container start the service with it. */
const flagOfUnit = "--no-allocation-site-pretenuring";

/** The packed program as users start it, apart from its rate limit and its log. */
export function startPacked(database: string, encryptionKey?: string): Promise<Program> {
  const words = ["--database", database, "--port", "0", "--json", "--log-level", "error", "--rate-limit", "1000000000"];
  const env = encryptionKey === undefined ? {} : { SVC_ENCRYPTION_KEY: encryptionKey };
  return launch("packed", [flagOfUnit, packedProgram(), "start", ...words], env);
}

/** The limit on SQLite. A new file gets the rows of `service`, a database of the service. */
export const startLimit = ({ built }: Bench, file: string, service?: string): Promise<Program> =>
  launch("limit", [join(built, "limit.js"), file, ...(service === undefined ? [] : [service])]);

/** The limit on PostgreSQL, in the database of the service. */
export const startLimitOnPostgres = ({ built }: Bench, url: string): Promise<Program> =>
  launch("limit", [join(built, "limit-postgres.js"), url]);

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
  const execArgv = script === "own-service" ? [flagOfUnit] : [];
  const child = fork(join(built, `${script}.js`), words, { execArgv });
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

/**
 * The load generator, in its own process: wrk if installed, else Node's, which hides differences between fast servers.
 */
export function createLoad({ built, folder }: Bench) {
  const child = hasWrk() ? undefined : fork(join(built, "load.js"), [], { execArgv: [] });
  if (child) pin(child, "load");
  const load = (round: Round) => (child ? ask<Loaded>(child, round) : loadByWrk(round, folder));
  return {
    async measure(server: Server, round: Omit<Round, "url">): Promise<Measured> {
      const before = await server.cpu();
      const loaded = await load({ ...round, url: server.url });
      return { ...loaded, cpu_us: ((await server.cpu()) - before) / loaded.requests };
    },
    end: async () => child && ended(child),
  };
}
export type Load = ReturnType<typeof createLoad>;

/** The requests of every round to one server. */
export type Task = readonly [server: Server, round: Omit<Round, "url" | "ms">];

const warm_ms = 4_000;

/**
 * Runs short interleaved rounds, so that a slow moment of the machine affects all servers. Returns the rounds of each
 * server.
 */
export async function inTurns({ rounds, ms }: Bench, load: Load, tasks: readonly Task[]): Promise<Measured[][]> {
  const results: Measured[][] = tasks.map(() => []);
  // V8 finishes optimizing a path only after about ten thousand requests.
  for (const [server, round] of tasks) await load.measure(server, { ...round, ms: warm_ms });
  for (let i = 0; i < rounds; i++)
    for (const [at, [server, round]] of i % 2 ? [...tasks.entries()].reverse() : tasks.entries())
      results[at]?.push(await load.measure(server, { ...round, ms }));
  return results;
}

/** The ratio of two servers in one measure, for each round: above 1 if `mine` is better. */
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

/** The measured requests; every server has the rows that they read. */
export const requests = {
  get: ({ ids }: Rows): Asked[] => ids.map((id) => ({ path: `/v1/deployments/${id}` })),
  list: (): Asked[] => [{ path: "/v1/deployments" }],
  post: ({ project_id }: Pick<Rows, "project_id">): Asked[] => [
    { path: "/v1/deployments", body: { project_id, environment: "production", source } },
  ],
  /** Four reads for each write. */
  mix: (rows: Rows): Asked[] => [...requests.get(rows).slice(0, 3), ...requests.list(), ...requests.post(rows)],
} as const;
