import type { Clock } from "../kernel/clock.ts";
import { isoOf } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { createTimeKeeper } from "../store/service-state.ts";
import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

/** Adds durable work: a row in the transaction of the change that causes it. */
export interface Queue {
  /** Runs the job of this kind after `wait_ms` of the service's clock, once the transaction is durable. */
  add(tx: Tx, kind: string, args: object, wait_ms?: number): Promise<void>;
  /** The same for a unique job: if one with this `key` waits already, it runs at the earlier of the two times. */
  addUnique(tx: Tx, kind: string, args: object, key: string, wait_ms?: number): Promise<void>;
}

/** `wake` is called with the due time of each job, once its transaction is durable. */
export function createQueue({
  store,
  clock,
  ids,
  wake,
}: {
  store: Store;
  clock: Clock;
  ids: Ids;
  wake: (at: number) => void;
}): Queue {
  const jobs = store.using(jobsRepository);
  const storeTime = createTimeKeeper(store, clock);
  return {
    async add(tx, kind, args, wait_ms = 0) {
      const at = clock.now() + wait_ms;
      await jobs(tx).insert({
        id: ids.next("job"),
        kind,
        args: JSON.stringify(args),
        state: "waiting",
        run_at: isoOf(at),
        attempt: 0,
        failures: 0,
        crashes: 0,
        strikes: 0,
      });
      await storeTime(tx);
      tx.afterCommit(() => wake(at));
    },
    async addUnique(tx, kind, args, key, wait_ms = 0) {
      const at = clock.now() + wait_ms;
      await jobs(tx).insertOrAdvance({ id: `job_${key}`, kind, args: JSON.stringify(args), run_at: isoOf(at) });
      await storeTime(tx);
      tx.afterCommit(() => wake(at));
    },
  };
}
