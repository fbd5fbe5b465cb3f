import * as v from "valibot";
import { type Clock, isoOf } from "../kernel/clock.ts";
import { type Job, jobsOf, snooze } from "../kernel/job.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

/** The daily clean-up. The prefix `service.` marks periodic jobs. */
export const pruneKind = "service.prune";

const [day_ms, time_ms] = [milliseconds("1d"), milliseconds("3h17m")];
/** The next 03:17 in UTC, which has no missing or repeated hours. */
const nextPrune = (now: number): number => now + day_ms - ((((now - time_ms) % day_ms) + day_ms) % day_ms);

export const pruneJob = (prune: () => Promise<void>, clock: Clock, log: Log): Job =>
  jobsOf<unknown>()({
    kind: pruneKind,
    args: v.object({}),
    async run() {
      // A failure is logged; the series continues.
      await prune().catch((error) => log.error("periodic work failed", { kind: pruneKind, reason: reasonOf(error) }));
      return snooze(nextPrune(clock.now()) - clock.now());
    },
  });

/** The row is never removed, so a run that was missed while the service was down happens at the next start. */
export async function addPruneJob(store: Store, clock: Clock): Promise<void> {
  const row = { id: `job_${pruneKind}`, kind: pruneKind, run_at: isoOf(nextPrune(clock.now())) };
  await store.transaction("rows", (tx) => store.using(jobsRepository)(tx).insertOnce(row));
}
