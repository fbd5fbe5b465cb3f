import type { Clock } from "../kernel/clock.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

/** The kind of a job that only the process with this runtime may run. */
export const kindAt = (kind: string, runtime_id: string | undefined): string =>
  runtime_id === undefined ? kind : `${kind}@${runtime_id}`;

export const isOfRuntime = (kind: string): boolean => kind.includes("@");

/** The declared kind, without the runtime. */
export const declaredKind = (kind: string): string => kind.split("@", 1)[0] ?? kind;

/** A pattern for the kinds of a runtime's jobs. Without a runtime it matches no job. */
export const patternOf = (runtime_id = ""): string => `%@${runtime_id}`;

type Rows = (tx?: Tx) => ReturnType<typeof jobsRepository>;
type Lease = Parameters<ReturnType<Rows>["claim"]>[0];

/** Greater than every instant. */
export const always = "~";

/** The jobs that this process may run: all, or with `own` (`patternOf`) those of its runtime and those of none. */
export function claimableJobs(rows: Rows, own: string | undefined) {
  return {
    next: () => (own === undefined ? rows().next({}) : rows().nextOf({ own })),
    claim: (tx: Tx, lease: Lease) => (own === undefined ? rows(tx).claim(lease) : rows(tx).claimOf({ ...lease, own })),
    /** Waits for transactions that add work to this job: call it before reading whether there is more. */
    lock: async (tx: Tx, job: { readonly id: string }) =>
      own === undefined ? undefined : rows(tx).lock({ id: job.id }),
    /** At a start: leases that ended before belong to ended processes. Under a manual clock no lease ends by itself. */
    ended: (clock: Clock): (() => string) => (own !== undefined && clock.mode === "real" ? clock.iso : () => always),
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
