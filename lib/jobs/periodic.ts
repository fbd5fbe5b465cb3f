import * as v from "valibot";
import type { Clock } from "../kernel/clock.ts";
import { isoOf } from "../kernel/clock.ts";
import { type Job, jobsOf, snooze } from "../kernel/job.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { nextSlot as slotAfter } from "../kernel/text/cron.ts";
import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

/** Its row is never removed, so slots missed while the service was down run once at the start. */
export interface PeriodicJob {
  /** The prefix `service.` marks periodic jobs. */
  readonly kind: `service.${string}`;
  /** Five cron fields, in UTC, which has no missing or repeated hours. */
  readonly cron: string;
  run(): Promise<void>;
}

/** The schedule of the periodic jobs. */
export const schedule = { "service.prune": "17 3 * * *" } as const;

/** croner computes the slots; the job loop waits for them on the service's clock. */
function nextSlot(cron: string, clock: Clock): number {
  const next = slotAfter(cron, clock.now());
  if (next === undefined) throw new Error(`the cron pattern ${cron} never matches`);
  return next;
}

export function periodicJobs(table: readonly PeriodicJob[], clock: Clock, log: Log): Job[] {
  const job = jobsOf<unknown>();
  return table.map(({ kind, cron, run }) =>
    job({
      kind,
      args: v.object({}),
      async run() {
        // A failure is logged; the series continues.
        await run().catch((error) => log.error("periodic work failed", { kind, reason: reasonOf(error) }));
        return snooze(nextSlot(cron, clock) - clock.now());
      },
    }),
  );
}

/** Inserts missing rows. */
export async function addPeriodicJobs(table: readonly PeriodicJob[], store: Store, clock: Clock): Promise<void> {
  const jobs = store.using(jobsRepository);
  await store.transaction("rows", async (tx) => {
    for (const { kind, cron } of table) {
      await jobs(tx).insertOnce({ id: `job_${kind}`, kind, run_at: isoOf(nextSlot(cron, clock)) });
    }
  });
}
