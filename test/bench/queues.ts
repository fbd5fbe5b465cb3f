import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Database as Opened } from "better-sqlite3";
import type { Goal } from "./figures.ts";

/** Another job queue, which runs empty jobs. */
export interface Other {
  readonly name: string;
  readonly goal: Goal;
  /** The milliseconds for `number` jobs, without the time to add them. */
  run(number: number): Promise<number>;
  close(): Promise<unknown>;
}

/** Imports a package from a folder of peer packages. */
async function load<T>(peers: string, name: string): Promise<T> {
  const require = createRequire(join(peers, "package.json"));
  const module = (await import(pathToFileURL(require.resolve(name)).href)) as { default?: T };
  return { ...module.default, ...module } as T;
}

interface Plainjob {
  better(database: Opened): unknown;
  defineQueue(options: object): { addMany(type: string, data: readonly object[]): unknown; close(): void };
  defineWorker(
    type: string,
    work: () => Promise<void>,
    options: object,
  ): { start(): Promise<void>; stop(): Promise<void> };
}

const logger = { error: console.error, warn: console.error, info() {}, debug() {} };

/** plainjob on the same disk with the same durability, otherwise with its default settings. */
export async function plainjob(peers: string, file: string): Promise<Other> {
  const { better, defineQueue, defineWorker } = await load<Plainjob>(peers, "plainjob");
  const { default: Database } = await import("better-sqlite3");
  const database = new Database(file);
  const queue = defineQueue({ connection: better(database), logger });
  database.pragma("synchronous = FULL");
  return {
    name: "plainjob",
    goal: { floor: 1, aim: 4 },
    async run(number) {
      queue.addMany("nothing", Array(number).fill({}));
      let left = number;
      const from = performance.now();
      return new Promise((resolve) => {
        const onCompleted = () => {
          left -= 1;
          if (left > 0) return;
          const took = performance.now() - from;
          void worker.stop().then(() => resolve(took));
        };
        const worker = defineWorker("nothing", async () => {}, { queue, logger, onCompleted });
        void worker.start();
      });
    },
    async close() {
      queue.close();
      database.close();
    },
  };
}

interface Graphile {
  Logger: new (factory: () => () => void) => unknown;
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    addJobs(jobs: readonly object[]): Promise<unknown>;
    release(): Promise<void>;
  }>;
  run(options: object): Promise<{ stop(): Promise<void> }>;
}

/**
 * Graphile Worker with its documented settings for throughput: concurrency ten, a local queue in memory, batched
 * completion.
 */
export async function graphileWorker(peers: string, connectionString: string): Promise<Other> {
  if (connectionString === "") throw new Error("it needs a PostgreSQL, named with --postgres postgres://…");
  const { makeWorkerUtils, run, Logger } = await load<Graphile>(peers, "graphile-worker");
  const quiet = new Logger(() => () => {});
  const tools = await makeWorkerUtils({ connectionString, logger: quiet });
  await tools.migrate();
  const worker = { connectionString, concurrentJobs: 10, localQueue: { size: 500 }, completeJobBatchDelay: 0 };
  return {
    name: "graphile-worker, tuned",
    goal: { floor: 0.5, aim: 1.5 },
    async run(number) {
      await tools.addJobs(Array.from({ length: number }, () => ({ identifier: "nothing", payload: {} })));
      let left = number;
      let from = 0;
      let done: (took: number) => void = () => {};
      const took = new Promise<number>((resolve) => {
        done = resolve;
      });
      const nothing = async () => {
        from ||= performance.now();
        left -= 1;
        if (left === 0) done(performance.now() - from);
      };
      const runner = await run({
        logger: quiet,
        noHandleSignals: true,
        preset: { worker },
        taskList: { nothing },
      });
      const ms = await took;
      await runner.stop();
      return ms;
    },
    close: () => tools.release(),
  };
}
