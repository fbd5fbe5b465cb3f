import { milliseconds } from "../kernel/duration.ts";
import type { Job, Outcome } from "../kernel/job.ts";
import type { TransactionScope } from "../kernel/transaction-hooks.ts";
import type { Row } from "../store/tables.ts";
import { isGivenUp } from "./crash-count.ts";

/** The next state of a job: removed, waiting for another run, or given up. */
export type Verdict =
  | { readonly kind: "remove" }
  | {
      readonly kind: "again";
      readonly at: number;
      readonly failures: number;
      readonly args?: unknown;
    }
  | { readonly kind: "give_up"; readonly reason: string };

/**
 * A pure function of the outcome, the failures so far and the retry delays. `jitter` lengthens a delay, by 0 to 0.1 of
 * it.
 */
export function settle(
  outcome: Outcome,
  job: { failures: number; retries: readonly string[] },
  now: number,
  jitter = 0,
): Verdict {
  if (outcome.kind === "snooze") {
    return {
      kind: "again",
      at: now + outcome.wait_ms,
      failures: job.failures,
      ...(outcome.args === undefined ? {} : { args: outcome.args }),
    };
  }
  if (outcome.kind !== "retry") return { kind: "remove" };
  const delay = job.retries[job.failures];
  if (delay === undefined) return { kind: "give_up", reason: outcome.reason };
  return {
    kind: "again",
    at: now + Math.round(milliseconds(delay) * (1 + jitter)),
    failures: job.failures + 1,
  };
}

/** What the settling of a job locks: everything, if the job may be given up, since its end can change anything. */
export function scopeOf(row: Row<"jobs">, job: Job | undefined, given: Outcome): TransactionScope {
  const retries = job?.retries.length ?? 0;
  if (isGivenUp(row) || (given.kind === "retry" && row.failures >= retries)) return "all";
  return "scope" in given ? given.scope : "rows";
}
