import { Cron } from "croner";
import * as v from "valibot";
import type { Clock } from "../kernel/clock.ts";
import { isoOf } from "../kernel/clock.ts";
import { type Job, jobsOf, snooze } from "../kernel/job.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

/** Work that comes back by the calendar. It is one row that is never removed, so a missed slot runs once at start-up. */
export interface PeriodicJob {
  /** Begins with `service.`, by which what comes back for ever is told from work that ends. */
  readonly kind: `service.${string}`;
  /** Five fields, in UTC: no hour is missing or double there. */
  readonly cron: string;
  run(): Promise<void>;
}

/** croner computes the slots; the job loop waits for them on the service's clock. */
function nextSlot(cron: string, clock: Clock): number {
  const next = new Cron(cron, { paused: true, utcOffset: 0 }).nextRun(new Date(clock.now()));
  if (!next) throw new Error(`the pattern ${cron} never comes`);
  return next.getTime();
}

export function periodicJobs(table: readonly PeriodicJob[], clock: Clock, log: Log): Job[] {
  const job = jobsOf<unknown>();
  return table.map(({ kind, cron, run }) =>
    job({
      kind,
      args: v.object({}),
      async run() {
        // A failure must not end the series: it is told, and the next slot comes.
        await run().catch((error) => log.error("periodic work failed", { kind, reason: reasonOf(error) }));
        return snooze(nextSlot(cron, clock) - clock.now());
      },
    }),
  );
}

/** Adds the rows that are not there yet. */
export async function addPeriodicJobs(table: readonly PeriodicJob[], store: Store, clock: Clock): Promise<void> {
  const jobs = store.using(jobsRepository);
  await store.transaction(async (tx) => {
    for (const { kind, cron } of table) {
      await jobs(tx).insertOnce({
        id: `job_${kind}`,
        kind,
        run_at: isoOf(nextSlot(cron, clock)),
      });
    }
  });
}
