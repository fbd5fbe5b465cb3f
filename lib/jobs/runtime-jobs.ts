import type { Clock } from "../kernel/clock.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { jobsRepository } from "./repository.ts";

/** The kind of a job that only the process with this runtime may run. */
export const kindAt = (kind: string, runtime_id: string | undefined): string =>
  runtime_id === undefined ? kind : `${kind}@${runtime_id}`;

export const isOfRuntime = (kind: string): boolean => kind.includes("@");

/** The declared kind, without the runtime. */
export const declaredKind = (kind: string): string => kind.split("@", 1)[0] ?? kind;

/** A pattern for the kinds of a runtime's jobs. Without a runtime it matches no job. */
const patternOf = (runtime_id = ""): string => `%@${runtime_id}`;

type Rows = (tx?: Tx) => ReturnType<typeof jobsRepository>;
type Lease = Parameters<ReturnType<Rows>["claim"]>[0];

/** Greater than every instant. */
export const always = "~";

/** The jobs that a process may claim, and what it has to know of other processes. */
interface Claimable {
  next(): Promise<{ readonly run_at: string } | undefined>;
  claim(tx: Tx, lease: Lease): Promise<Row<"jobs">[]>;
  /**
   * Waits for transactions that are adding work to this job. Call it before reading whether there is more work.
   * Otherwise neither side would see the other's change.
   */
  lock(tx: Tx, job: { readonly id: string; readonly attempt: number }): Promise<unknown>;
  /**
   * For a start: returns a function that reads the clock. Leases that ended before that instant belong to processes that
   * have ended. Under a manual clock no lease ever ends by itself, so all count as ended.
   */
  ended(clock: Clock): () => string;
}

/** One process runs all jobs, so whatever ran before its start has ended. */
export const allJobs = (rows: Rows): Claimable => ({
  next: () => rows().next({}),
  claim: (tx, lease) => rows(tx).claim(lease),
  // Transactions run one at a time.
  lock: async () => undefined,
  ended: () => () => always,
});

/** With other processes on the same rows: all jobs except those of other runtimes. */
export function jobsOfRuntime(rows: Rows, runtime_id: string | undefined): Claimable {
  const own = patternOf(runtime_id);
  return {
    next: () => rows().nextOf({ own }),
    claim: (tx, lease) => rows(tx).claimOf({ ...lease, own }),
    lock: (tx, job) => rows(tx).lock(job),
    ended: (clock) => (clock.mode === "real" ? clock.iso : () => always),
  };
}

export type RuntimeJobs = ReturnType<typeof createRuntimeJobs>;

/** The jobs that belong to one runtime, if several processes share the rows. */
export function createRuntimeJobs(store: Store) {
  const jobs = store.using(jobsRepository);
  return {
    /** Ends the leases of these jobs, because the process that ran them has ended. */
    endLeases: (tx: Tx, runtime_id: string, now: string) => jobs(tx).endLeases({ own: patternOf(runtime_id), now }),

    /** Moves the deployments of a removed runtime to another one. Deletes its other jobs, which are useless now. */
    async moveAdvances(tx: Tx, from: string, to: string | undefined): Promise<void> {
      const kind = "deployments.advance";
      await jobs(tx).setKind({ from: kindAt(kind, from), to: kindAt(kind, to) });
      await jobs(tx).removeOf({ own: patternOf(from) });
    },

    isWaiting: async (id: string): Promise<boolean> => (await jobs().find({ id })) !== undefined,
  };
}
