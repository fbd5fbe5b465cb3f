import type * as v from "valibot";
import type { TransactionScope, Tx } from "./transaction-hooks.ts";
import type { Schema } from "./validation.ts";

type Write = (tx: Tx) => Promise<unknown>;
type Next = (tx: Tx) => Promise<number | undefined>;

/** `write` runs in the transaction that settles the job, if the lease is still held. `scope` is what it locks. */
export type Outcome =
  | { readonly kind: "done"; readonly write: Write | undefined; readonly scope: TransactionScope }
  | { readonly kind: "until"; readonly next: Next; readonly scope: TransactionScope }
  | {
      readonly kind: "snooze";
      readonly wait_ms: number;
      readonly args: unknown;
      readonly write: Write | undefined;
      readonly scope: TransactionScope;
    }
  | { readonly kind: "discard"; readonly reason: string };

/** The job is finished. `scope` must cover the changes of `write`. */
export const done = (...[write, scope = "rows"]: [] | [Write, TransactionScope]): Outcome => ({
  kind: "done",
  write,
  scope,
});
/** The job runs again at the instant that `next` reads in the settling transaction, or is finished. */
export const snoozeUntil = (next: Next, scope: TransactionScope): Outcome => ({ kind: "until", next, scope });
/** The job runs again after `wait_ms`, with `args` if given. `scope` must cover the changes of `write`. */
export const snooze = (
  wait_ms: number,
  ...[write, scope = "rows", args]: [] | [write: Write, scope: TransactionScope, args?: unknown]
): Outcome => ({ kind: "snooze", wait_ms, args, write, scope });
/** The job has become pointless: its record was deleted, or another change ended the work. */
export const discard = (reason: string): Outcome => ({ kind: "discard", reason });

/** The right to run a job. When it ends, another process may run the job, so this one sends nothing more. */
export interface Lease {
  isHeld(): boolean;
}

/** A kind of durable work. Its rows are the queue: each is inserted in the transaction of the change that needs it. */
export interface Job {
  readonly kind: string;
  readonly args: Schema;
  /** Whether an exhausted job starts over with all its retries instead of being given up. */
  readonly again: boolean;
  run(args: unknown, services: unknown, lease: Lease): Promise<Outcome>;
  exhausted(args: unknown, reason: string, services: unknown, tx: Tx): Promise<void>;
}

/** `const job = jobsOf<{ deployments: DeploymentsService }>()` makes a builder of jobs that use these services. */
export function jobsOf<Services>() {
  return <S extends Schema>(declared: {
    kind: string;
    args: S;
    run(args: v.InferOutput<S>, services: Services, lease: Lease): Promise<Outcome>;
    /** Runs in the transaction that gives the job up. Without it, the job starts over a minute later. */
    exhausted?(args: v.InferOutput<S>, reason: string, services: Services, tx: Tx): Promise<void>;
  }): Job => ({
    kind: declared.kind,
    args: declared.args,
    again: declared.exhausted === undefined,
    run: declared.run as Job["run"],
    exhausted: (declared.exhausted ?? (async () => {})) as Job["exhausted"],
  });
}
