import type * as v from "valibot";
import type { Tx } from "./transaction-hooks.ts";
import type { Schema } from "./validation.ts";

type Write = (tx: Tx) => Promise<void>;

/**
 * What became of a job. `write` is done in the very transaction that settles the job, and only if the job still holds
 * its lease: a late answer of a process that lost it changes nothing.
 */
export type Outcome =
  | { readonly kind: "done"; readonly write: Write | undefined }
  | { readonly kind: "until"; readonly next: (tx: Tx) => Promise<number | undefined> }
  | { readonly kind: "retry"; readonly reason: string }
  | {
      readonly kind: "snooze";
      readonly wait_ms: number;
      readonly args: unknown;
      readonly write: Write | undefined;
    }
  | { readonly kind: "discard"; readonly reason: string };

/** The work is finished. */
export const done = (write?: Write): Outcome => ({ kind: "done", write });
/** It goes on at the instant that its own rows tell, asked in the settling transaction; it is finished where none does. */
export const snoozeUntil = (next: (tx: Tx) => Promise<number | undefined>): Outcome => ({ kind: "until", next });
/** It failed and is tried again after the next delay of its ladder. */
export const retry = (reason: string): Outcome => ({ kind: "retry", reason });
/** It goes on later, with other arguments where some are given; this is no failure. */
export const snooze = (wait_ms: number, write?: Write, args?: unknown): Outcome => ({
  kind: "snooze",
  wait_ms,
  args,
  write,
});
/** It has become meaningless: what it was about is gone, or was ended by others. */
export const discard = (reason: string): Outcome => ({
  kind: "discard",
  reason,
});

/** A kind of durable work. The row is the queue: it is added in the transaction of the change that causes it. */
export interface Job {
  readonly kind: string;
  readonly args: Schema;
  /** Delays after the first, second, … failure; after the last one it is exhausted. */
  readonly retries: readonly string[];
  run(args: unknown, services: unknown): Promise<Outcome>;
  exhausted(args: unknown, reason: string, services: unknown, tx: Tx): Promise<void>;
}

/** A fault that nobody foresaw is tried again soon, and not for ever. */
const defaultRetries = ["1s", "5s", "30s"] as const;

/** `const job = jobsOf<{ deployments: DeploymentsService }>()`: a builder that knows the services it may use. */
export function jobsOf<Services>() {
  return <S extends Schema>(declared: {
    kind: string;
    args: S;
    retries?: readonly string[];
    run(args: v.InferOutput<S>, services: Services): Promise<Outcome>;
    /** In the transaction that gives the job up, after the last retry or after it took three processes down. */
    exhausted?(args: v.InferOutput<S>, reason: string, services: Services, tx: Tx): Promise<void>;
  }): Job => ({
    kind: declared.kind,
    args: declared.args,
    retries: declared.retries ?? defaultRetries,
    run: declared.run as Job["run"],
    exhausted: (declared.exhausted ?? (async () => {})) as Job["exhausted"],
  });
}
