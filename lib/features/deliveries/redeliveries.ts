import { notFound } from "../../kernel/errors.ts";
import { discard, done, type Lease, type Outcome, snooze } from "../../kernel/job.ts";
import type { Store } from "../../store/store.ts";
import type { AttemptResult, Attempts } from "./attempts.ts";
import { deliveriesRepository } from "./repository.ts";
import type { Endpoints } from "./service.ts";

interface Ports {
  readonly store: Store;
  readonly endpoints: Endpoints;
  readonly attempts: Attempts;
}

/** Sends a delivery once more without changing its retry schedule. */
export function createRedeliveries({ store, endpoints, attempts }: Ports) {
  const deliveries = store.using(deliveriesRepository);

  const sendAgain = async (delivery_id: string, lease?: Lease): Promise<AttemptResult | "lease_lost" | undefined> => {
    const delivery = await deliveries().forJob({ id: delivery_id });
    if (!delivery) return undefined;
    // Before the attempt is counted: a deletion in the same commit would otherwise be missed.
    const deletion = endpoints.deletionSignal(delivery.endpoint_id);
    try {
      const started = await store.transaction(delivery, (tx) => attempts.startRedelivery(tx, delivery_id));
      return started && (await attempts.send(started, deletion.signal, lease));
    } finally {
      deletion.release();
    }
  };

  return {
    /** The job `deliveries.redeliver`. */
    async redeliver(lease: Lease, delivery_id: string): Promise<Outcome> {
      const result = await sendAgain(delivery_id, lease);
      if (result === "lease_lost") return snooze(0);
      if (!result) return discard("the delivery or its endpoint was removed");
      return done((tx) => attempts.settleRedelivery(tx, result), result.delivery);
    },

    /**
     * Redelivers in the given order, without a job, for tests.
     *
     * @throws {Problem} `not_found` for an unknown delivery, before the first attempt.
     */
    async deliver(ordered: readonly string[]): Promise<void> {
      for (const id of new Set(ordered)) if (!(await deliveries().forJob({ id }))) throw notFound("delivery");
      for (const id of ordered) {
        const result = await sendAgain(id);
        // The receiver of an earlier delivery may have deleted it.
        if (!result || result === "lease_lost") throw notFound("delivery");
        await store.transaction(result.delivery, (tx) => attempts.settleRedelivery(tx, result));
      }
    },
  };
}
