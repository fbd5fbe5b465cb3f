import * as v from "valibot";
import type { Clock } from "../kernel/clock.ts";
import { isoOf } from "../kernel/clock.ts";
import { nextSlot as slotAfter } from "../kernel/cron.ts";
import { type Job, jobsOf, snooze } from "../kernel/job.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

/**
 * Work on a cron schedule. Its row is never removed, so slots that were missed while the service was down run once at
 * start.
 */
export interface PeriodicJob {
  /** The prefix `service.` tells periodic jobs from one-off jobs. */
  readonly kind: `service.${string}`;
  /** Five cron fields, in UTC, where no hour is missing or doubled. */
  readonly cron: string;
  run(): Promise<void>;
}

/** When the periodic jobs run. */
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
        // A failure is logged and does not end the series.
        await run().catch((error) => log.error("periodic work failed", { kind, reason: reasonOf(error) }));
        return snooze(nextSlot(cron, clock) - clock.now());
      },
    }),
  );
}

/** Adds the rows that are missing. */
export async function addPeriodicJobs(table: readonly PeriodicJob[], store: Store, clock: Clock): Promise<void> {
  const jobs = store.using(jobsRepository);
  await store.transaction("rows", async (tx) => {
    for (const { kind, cron } of table) {
      await jobs(tx).insertOnce({ id: `job_${kind}`, kind, run_at: isoOf(nextSlot(cron, clock)) });
    }
  });
}
