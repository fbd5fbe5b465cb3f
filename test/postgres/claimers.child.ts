// Claimers of jobs in one process: `claimers.child.js URL COUNT`. They start at the first byte of stdin and exit when
// no job is due. stdout lists the jobs that each ran.
import { once } from "node:events";
import * as v from "valibot";
import { createRunner } from "../../lib/jobs/runner.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { done, jobsOf } from "../../lib/kernel/job.ts";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { createStore } from "../../lib/store/store.ts";

const [url = "", count] = process.argv.slice(2);
const { engine } = await openPostgres(url, { isServer: true });
const store = createStore(engine);
const clock = createClock("real");
const fail = (message: string) => {
  throw new Error(message);
};
const log = { error: fail, warn: fail, info() {}, debug() {} };

async function claimAll(owner: string): Promise<string[]> {
  const ran: string[] = [];
  const job = jobsOf<unknown>()({
    kind: "tests.work",
    args: v.object({ name: v.string() }),
    async run({ name }) {
      ran.push(name);
      return done();
    },
  });
  const runner = createRunner({ store, clock, log, services: {}, owner, isShared: true, jobs: [job] });
  while ((await runner.next()) !== undefined) {
    const rows = await runner.claim();
    await Promise.all(rows.map((row) => runner.run(row)));
  }
  return ran;
}

process.stdout.write("ready\n");
await once(process.stdin, "data");
const all = await Promise.all(Array.from({ length: Number(count) }, (_, i) => claimAll(`${process.pid} ${i}`)));
process.stdout.write(`${JSON.stringify(all)}\n`);
await store.close();
process.exit();
