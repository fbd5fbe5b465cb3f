import { createAdmission } from "../../jobs/admission.ts";
import { done, type Outcome, snoozeUntil } from "../../kernel/job.ts";
import { createRandom } from "../../kernel/random.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Core } from "../core.ts";
import { generationsRepository, type Movable } from "./repository.ts";

export interface GenerationQueuePorts extends Pick<Core, "store" | "clock" | "queue"> {
  /** Option `generations.concurrency`: how many generations are in progress at a time, over all organizations. */
  readonly concurrency: number;
}

/** The queue of generations, with one limit for all organizations. `begin` moves one to `in_progress`. */
export function createGenerationQueue(
  { store, clock, queue, concurrency }: GenerationQueuePorts,
  begin: (tx: Tx, waiting: Movable) => Promise<void>,
) {
  const generations = store.using(generationsRepository);
  const keys = new WeakMap<object, string>();
  const oldestReady = (tx?: Tx) => generations(tx).oldestReady({ now: clock.iso() });
  /**
   * The key of the job `generations.turn`. A job with a key draws no id, so the same calls give the same ids on every
   * engine. The key is random: an insert with a fixed key could wait for the row of a settling job, which in turn waits
   * for the lock on the limit. Transactions of one group share the key, so that jobs do not multiply.
   */
  const keyOf = ({ shared: group = new Map() }: Tx): string => {
    const key = keys.get(group) ?? `turn ${createRandom().alphanumeric(16)}`;
    keys.set(group, key);
    return key;
  };
  const admission = createAdmission<Movable>({
    ...{ store, queue: "generations", concurrency },
    running: (tx) => generations(tx).running({}),
    // Usually none is ready. `oldestReady` reads one entry of an index, `nextReady` all that are not ready.
    nextReady: async (tx, after) =>
      after !== "" && !(await oldestReady(tx)) ? undefined : generations(tx).nextReady({ after, now: clock.iso() }),
    start: async (tx, waiting) => {
      await begin(tx, waiting);
      return true;
    },
    startLater: (tx) => queue.addUnique(tx, "generations.turn", {}, keyOf(tx)),
  });

  const startReady = async (tx: Tx, { organization_id }: Pick<Movable, "organization_id">) => {
    await tx.lockLimit("generations");
    await admission.startReady(tx, organization_id);
  };

  return {
    startReady,

    /** The job `generations.turn`: a delay has passed, or a slot is free for the next organization. */
    async runStart(): Promise<Outcome> {
      const next = (await admission.next()) ?? (await oldestReady());
      if (next) return done((tx) => startReady(tx, next), next);
      // In one transaction: the clock may be set between reading it and reading the rows.
      return snoozeUntil(async (tx) => ((await oldestReady(tx)) ? clock.now() : undefined), "rows");
    },

    /** Called at start: the limit may have been raised, and nothing else would start the waiting generations. */
    resume: () =>
      store.transaction("rows", async (tx) => {
        if (await oldestReady(tx)) await queue.add(tx, "generations.turn", {});
      }),
  };
}
