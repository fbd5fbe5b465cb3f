import type * as v from "valibot";
import type { TransactionHooks, Tx } from "./transaction-hooks.ts";
import type { Schema } from "./validation.ts";

type Write = (tx: Tx) => Promise<void>;
/** What the settling transaction changes beside the job. */
type Scope = Pick<TransactionHooks, "organization_id" | "locksRowsOnly">;

/**
 * The result of a job run. `write` runs in the transaction that settles the job, and only if the process still holds
 * the lease: the late result of a process that lost it changes nothing.
 */
export type Outcome =
  | { readonly kind: "done"; readonly write: Write | undefined; readonly scope: Scope | undefined }
  | {
      readonly kind: "until";
      readonly next: (tx: Tx) => Promise<number | undefined>;
      readonly scope: Scope | undefined;
    }
  | { readonly kind: "retry"; readonly reason: string }
  | {
      readonly kind: "snooze";
      readonly wait_ms: number;
      readonly args: unknown;
      readonly write: Write | undefined;
      readonly scope: Scope | undefined;
    }
  | { readonly kind: "discard"; readonly reason: string };

/** The job is finished. `scope` names the organization whose records `write` changes; without it they are of several. */
export const done = (write?: Write, scope?: Scope): Outcome => ({ kind: "done", write, scope });
/** The job runs again at the instant that `next` reads in the settling transaction; it is finished without one. */
export const snoozeUntil = (next: (tx: Tx) => Promise<number | undefined>, scope?: Scope): Outcome => ({
  kind: "until",
  next,
  scope,
});
/** The job failed, and runs again after its next retry delay. */
export const retry = (reason: string): Outcome => ({ kind: "retry", reason });
/** The job runs again after `wait_ms`, with `args` if given. This is not a failure. */
export const snooze = (wait_ms: number, write?: Write, args?: unknown, scope?: Scope): Outcome => ({
  kind: "snooze",
  wait_ms,
  args,
  write,
  scope,
});
/** The job has become pointless: its record is gone, or something else ended the work. */
export const discard = (reason: string): Outcome => ({ kind: "discard", reason });

/** A kind of durable work. Its rows are the queue: each is added in the transaction of the change that causes it. */
export interface Job {
  readonly kind: string;
  readonly args: Schema;
  /** The delays after the first, second, … failure. One more failure exhausts the job. */
  readonly retries: readonly string[];
  run(args: unknown, services: unknown): Promise<Outcome>;
  exhausted(args: unknown, reason: string, services: unknown, tx: Tx): Promise<void>;
}

/** For unexpected errors: a few retries, soon. */
const defaultRetries = ["1s", "5s", "30s"] as const;

/** `const job = jobsOf<{ deployments: DeploymentsService }>()`: a builder of jobs that use these services. */
export function jobsOf<Services>() {
  return <S extends Schema>(declared: {
    kind: string;
    args: S;
    retries?: readonly string[];
    run(args: v.InferOutput<S>, services: Services): Promise<Outcome>;
    /** Runs in the transaction that gives the job up, after its last retry or after it crashed three processes. */
    exhausted?(args: v.InferOutput<S>, reason: string, services: Services, tx: Tx): Promise<void>;
  }): Job => ({
    kind: declared.kind,
    args: declared.args,
    retries: declared.retries ?? defaultRetries,
    run: declared.run as Job["run"],
    exhausted: (declared.exhausted ?? (async () => {})) as Job["exhausted"],
  });
}
