import type { TestContext } from "node:test";
import * as v from "valibot";
import { createLoop } from "../../lib/jobs/loop.ts";
import { createQueue } from "../../lib/jobs/queue.ts";
import { jobsRepository } from "../../lib/jobs/repository.ts";
import { createRunner } from "../../lib/jobs/runner.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { createIds } from "../../lib/kernel/ids.ts";
import { type Job, jobsOf, type Lease, type Outcome } from "../../lib/kernel/job.ts";
import type { Log } from "../../lib/kernel/log.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import type { Tx } from "../../lib/kernel/transaction-hooks.ts";
import { openMemory } from "../../lib/store/sqlite/database-files.ts";
import { createStore } from "../../lib/store/store.ts";
import { start } from "./test-service.ts";

const quiet: Log = { error() {}, warn() {}, info() {}, debug() {} };

/** The work of a test job. It receives its name and the number of this run. */
export type Work = (name: string, time: number, lease: Lease) => Promise<Outcome> | Outcome;

/**
 * The job runner without a service: one store on a manual clock, with any number of processes. `runs` lists the jobs
 * that ran and those that were given up.
 */
export function startRunner(t: TestContext, work: Work, { again = false } = {}) {
  const { engine, database } = openMemory();
  const store = createStore(engine);
  t.after(() => store.close());
  const clock = createClock(`manual@${start}`);
  const ids = createIds(clock, createRandom("jobs"));
  const rows = store.using(jobsRepository);
  const queue = createQueue({ store, clock, ids, wake: () => {} });
  const runs: string[] = [];
  const times = new Map<string, number>();
  const since = () => `${(clock.now() - Date.parse(start)) / 1000}s`;
  const job: Job = jobsOf<unknown>()({
    kind: "tests.work",
    args: v.object({ name: v.string() }),
    async run({ name }, _, lease) {
      runs.push(`${name} at ${since()}`);
      const time = (times.get(name) ?? 0) + 1;
      times.set(name, time);
      return work(name, time, lease);
    },
    ...(!again && {
      async exhausted({ name }: { name: string }, reason: string, _: unknown, tx: Tx) {
        tx.afterCommit(() => runs.push(`${name} given up at ${since()}: ${reason}`));
      },
    }),
  });
  const process = (owner: string) => createRunner({ store, clock, log: quiet, services: {}, owner, jobs: [job] });
  const runner = process("one");
  const loop = createLoop({ clock, runner, log: quiet, storeClock: async () => {} });
  return {
    store,
    database,
    clock,
    rows,
    runs,
    runner,
    loop,
    process,
    advance: (ms: number) => loop.advance(() => clock.now() + ms),
    add: (name: string, wait_ms = 0) =>
      store.transaction("all", (tx) => queue.add(tx, "tests.work", { name }, wait_ms)),
  };
}
