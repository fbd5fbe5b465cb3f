import type { Job, Outcome } from "../kernel/job.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import type { TransactionScope } from "../kernel/transaction-hooks.ts";
import type { Row } from "../store/tables.ts";
import { isGivenUp } from "./crash-count.ts";

export type Verdict =
  | { readonly kind: "remove" }
  | {
      readonly kind: "again";
      readonly at: number;
      readonly failures: number;
      readonly args?: unknown;
      /** The reason why it starts over with all its retries. */
      readonly reason?: string;
    }
  | { readonly kind: "give_up"; readonly reason: string };

/** A run that threw an unexpected error, or a result that the store refused. */
export interface Failure {
  readonly kind: "failed";
  readonly reason: string;
}
export const failed = (reason: string): Failure => ({ kind: "failed", reason });

/** The delays after the first, second, … failure. One more failure exhausts the job. */
export const retryDelays = ["1s", "5s", "30s"] as const;
const again_ms = milliseconds("1m");

/** The verdict for a job without retries left, or one that crashes its process. */
export const exhaust = (again: boolean, reason: string, now: number): Verdict =>
  again ? { kind: "again", at: now + again_ms, failures: 0, reason } : { kind: "give_up", reason };

/** Pure: depends only on the outcome, the earlier failures, and whether an exhausted job starts over. */
export function settle(
  outcome: Outcome | Failure,
  job: { readonly failures: number; readonly again: boolean },
  now: number,
): Verdict {
  if (outcome.kind === "snooze") {
    return {
      kind: "again",
      at: now + outcome.wait_ms,
      failures: job.failures,
      ...(outcome.args === undefined ? {} : { args: outcome.args }),
    };
  }
  if (outcome.kind !== "failed") return { kind: "remove" };
  const delay = retryDelays[job.failures];
  if (delay === undefined) return exhaust(job.again, outcome.reason, now);
  return { kind: "again", at: now + milliseconds(delay), failures: job.failures + 1 };
}

/** What settling a job locks: everything if the job may be given up, since giving up can change any record. */
export function scopeOf(row: Row<"jobs">, job: Job | undefined, given: Outcome | Failure): TransactionScope {
  const isExhausted = isGivenUp(row) || (given.kind === "failed" && row.failures >= retryDelays.length);
  if (isExhausted && !job?.again) return "all";
  return "scope" in given ? given.scope : "rows";
}
