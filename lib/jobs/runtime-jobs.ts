import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

/** The kind of a job that only the process with this runtime runs. */
export const kindAt = (kind: string, runtime_id: string | undefined): string =>
  runtime_id === undefined ? kind : `${kind}@${runtime_id}`;

export const isOfRuntime = (kind: string): boolean => kind.includes("@");

/** The kind as it is declared. */
export const declaredKind = (kind: string): string => kind.split("@", 1)[0] ?? kind;

/** The kinds of a runtime's jobs as a pattern; without a runtime no job matches. */
const patternOf = (runtime_id = ""): string => `%@${runtime_id}`;

type Rows = (tx?: Tx) => ReturnType<typeof jobsRepository>;
type Lease = Parameters<ReturnType<Rows>["claim"]>[0];

/** What a process claims: everything, or where others share the rows, what belongs to no other runtime. */
export function claimable(rows: Rows, isShared: boolean, runtime_id: string | undefined) {
  const own = patternOf(runtime_id);
  return {
    next: () => (isShared ? rows().nextOf({ own }) : rows().next({})),
    claim: (tx: Tx, lease: Lease) => (isShared ? rows(tx).claimOf({ ...lease, own }) : rows(tx).claim(lease)),
  };
}

export type RuntimeJobs = ReturnType<typeof createRuntimeJobs>;

/** The jobs that belong to one runtime, where several processes share the rows. */
export function createRuntimeJobs(store: Store) {
  const jobs = store.using(jobsRepository);
  return {
    /** The process that ran them has ended, so their leases end too. */
    endLeases: (tx: Tx, runtime_id: string, now: string) => jobs(tx).endLeases({ own: patternOf(runtime_id), now }),

    /** Another runtime continues the deployments of a runtime that is gone. Its other jobs are of no use any more. */
    async moveAdvances(tx: Tx, from: string, to: string | undefined): Promise<void> {
      const kind = "deployments.advance";
      await jobs(tx).setKind({ from: kindAt(kind, from), to: kindAt(kind, to) });
      await jobs(tx).removeOf({ own: patternOf(from) });
    },

    isWaiting: async (id: string): Promise<boolean> => (await jobs().find({ id })) !== undefined,
  };
}
