import { join } from "node:path";
import * as v from "valibot";
import { createLoop } from "../../lib/jobs/loop.ts";
import { createQueue } from "../../lib/jobs/queue.ts";
import { createRunner } from "../../lib/jobs/runner.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { createIds } from "../../lib/kernel/ids.ts";
import { done, jobsOf } from "../../lib/kernel/job.ts";
import type { Log } from "../../lib/kernel/log.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { openFile } from "../../lib/store/sqlite/database-files.ts";
import { createStore } from "../../lib/store/store.ts";
import { type Figure, figure, percentile } from "./figures.ts";
import { graphileWorker, type Other, plainjob } from "./queues.ts";

/** The job queue on a file, with durable commits: latency, throughput, and the cost of an idle queue. */
const [folder = "", peers = "", postgres = ""] = process.argv.slice(2);
const rounds = 5;
const count = 10_000;
const pickUps = 300;
const warmUp = 50;

const aloud: Log = { error: console.error, warn: console.error, info() {}, debug() {} };

const { engine, release } = openFile(join(folder, "jobs.db"), { mayCreate() {}, exclusive: true });
const store = createStore(engine);
const clock = createClock("real");
const ids = createIds(clock, createRandom());
let ran: () => void = () => {};
const job = jobsOf<unknown>()({
  kind: "bench.nothing",
  args: v.object({}),
  async run() {
    ran();
    return done();
  },
});
const runner = createRunner({ store, clock, log: aloud, services: {}, owner: "bench", jobs: [job] });
const loop = createLoop({ clock, runner, log: aloud, storeClock: async () => {} });
let awake = false;
const queue = createQueue({ store, clock, ids, wake: (at) => awake && loop.wake(at) });

/** From the commit of a job's row to the start of its run, including the commit of the claim. */
async function pickUp(): Promise<Figure[]> {
  const [commits, waited]: [number[], number[]] = [[], []];
  for (let i = 0; i < pickUps + warmUp; i++) {
    let committed = 0;
    const began = new Promise<number>((resolve) => {
      ran = () => resolve(performance.now());
    });
    const from = performance.now();
    await store.transaction("all", async (tx) => {
      tx.afterCommit(() => {
        committed = performance.now();
      });
      await queue.add(tx, job.kind, {});
    });
    commits.push(committed - from);
    waited.push((await began) - committed);
  }
  const measured = waited.slice(warmUp);
  return [
    figure("a commit on this disk, 99th percentile", "ms", [percentile(commits.slice(warmUp), 0.99)]),
    figure("from a job's commit to its run, median", "ms", [percentile(measured, 0.5)], { floor: 5, aim: 2 }),
    figure("from a job's commit to its run, 99th percentile", "ms", [percentile(measured, 0.99)], {
      floor: 20,
      aim: 10,
    }),
  ];
}

/** Processor time while no job is due, in thousandths of a processor. */
async function idle(): Promise<Figure> {
  await store.transaction("all", (tx) => queue.add(tx, job.kind, {}, 3_600_000));
  const wait = 1_000;
  const costs: number[] = [];
  for (let i = 0; i < 3; i++) {
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, wait));
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / wait);
  }
  return figure("processor while no job is due", "‰", costs);
}

/** The milliseconds that this service's queue takes for empty jobs, without the time to add them. */
async function ours(number: number): Promise<number> {
  // Waits until the loop is idle: a loop that still polls would start jobs while they are added.
  await loop.settle();
  awake = false;
  for (let added = 0; added < number; added += 1_000)
    await store.transaction("all", async (tx) => {
      for (let i = 0; i < 1_000; i++) await queue.add(tx, job.kind, {});
    });
  awake = true;
  let left = number;
  return new Promise((resolve) => {
    const from = performance.now();
    ran = () => {
      left -= 1;
      // The last job has run but is not settled yet; `settle()` resolves when no job is claimed any more.
      if (left === 0) void loop.settle().then(() => resolve(performance.now() - from));
    };
    loop.wake(clock.now());
  });
}

async function throughput(): Promise<Figure[]> {
  const others: Other[] = [];
  for (const [name, open] of [
    ["plainjob", () => plainjob(peers, join(folder, "plainjob.db"))],
    ["graphile-worker", () => graphileWorker(peers, postgres)],
  ] as const) {
    if (peers === "") process.stderr.write(`${name} is not measured: name the folder where it is with --peers\n`);
    else
      await open()
        .then((other) => others.push(other))
        .catch((error: Error) => process.stderr.write(`${name} is not measured: ${error.message}\n`));
  }
  const mine: number[] = [];
  const theirs = others.map(() => [] as number[]);
  for (let round = -1; round < rounds; round++) {
    const took = await ours(count);
    for (const [i, other] of others.entries()) {
      const their = (await other.run(count / 5)) * 5;
      if (round >= 0) theirs[i]?.push(their);
    }
    if (round >= 0) mine.push(took);
  }
  const perSecond = (all: readonly number[]) => all.map((ms) => (count * 1000) / ms);
  const figures = [figure("jobs that do nothing: ours", "a second", perSecond(mine))];
  for (const [i, { name, goal, close }] of others.entries()) {
    const all = theirs[i] ?? [];
    figures.push(figure(`jobs that do nothing: ${name}`, "a second", perSecond(all)));
    const ratio = all.map((ms, at) => ms / (mine[at] ?? Number.NaN));
    figures.push(figure(`jobs that do nothing: ratio to ${name}`, "×", ratio, goal));
    await close();
  }
  return figures;
}

await loop.start("after a pause");
awake = true;
const figures = [...(await pickUp()), ...(await throughput()), await idle()];
await loop.stop();
await store.close();
release();
process.stdout.write(JSON.stringify(figures));
