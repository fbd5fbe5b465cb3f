import type { Clock } from "../kernel/clock.ts";
import { isoOf } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { createTimeKeeper } from "../store/service-state.ts";
import type { Store } from "../store/store.ts";
import { jobsRepository, untried } from "./repository.ts";
import { isOfRuntime } from "./runtime-jobs.ts";

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Called with the due time of each job, once its transaction is durable. */
  readonly wake: (at: number) => void;
  /** Called when an added job may be for another process. */
  readonly wakeOthers?: (tx: Tx) => void;
}

export type Queue = ReturnType<typeof createQueue>;

/** Adds durable work: a row, in the transaction of the change that needs it. */
export function createQueue({ store, clock, ids, wake, wakeOthers = () => {} }: Ports) {
  const jobs = store.using(jobsRepository);
  const storeTime = createTimeKeeper(store, clock);
  const added = async (tx: Tx, kind: string, at: number) => {
    await storeTime(tx);
    tx.afterCommit(() => wake(at));
    if (isOfRuntime(kind)) wakeOthers(tx);
  };
  return {
    /** Runs a job of this kind after `wait_ms` on the service's clock, once the transaction is durable. */
    async add(tx: Tx, kind: string, args: object, wait_ms = 0): Promise<void> {
      const at = clock.now() + wait_ms;
      await jobs(tx).insert({
        id: ids.next("job"),
        kind,
        args: JSON.stringify(args),
        run_at: isoOf(at),
        ...untried,
      });
      await added(tx, kind, at);
    },
    /** Like `add`, but a waiting job with this `key` runs at the earlier of the two times. */
    async addUnique(tx: Tx, kind: string, args: object, key: string, wait_ms = 0): Promise<void> {
      const at = clock.now() + wait_ms;
      await jobs(tx).insertOrAdvance({ id: `job_${key}`, kind, args: JSON.stringify(args), run_at: isoOf(at) });
      await added(tx, kind, at);
    },
  };
}
