import type { Clock } from "../../kernel/clock.ts";
import type { Ids } from "../../kernel/ids.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { EventData, EventName } from "./catalog.ts";
import type { ChangeFeed, ServiceEvent } from "./change-feed.ts";
import { eventsRepository } from "./repository.ts";

/** Announces events in the transaction of their change, so that neither is stored without the other. */
export interface Bus {
  announce<E extends EventName>(tx: Tx, organization_id: string, event: E, data: EventData<E>): Promise<void>;
  /**
   * Subscribers run in the announcing transaction; they insert the deliveries there. `prefetch` starts the reads that a
   * subscriber makes at every event.
   */
  subscribe(
    subscriber: (tx: Tx, event: ServiceEvent) => Promise<void>,
    prefetch?: (tx: Tx, organization_id: string) => unknown,
  ): void;
  /** Starts these reads, for a transaction that will announce an event (`Prefetch`). */
  prefetch(tx: Tx, organization_id: string): readonly unknown[];
}

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly feed: ChangeFeed;
}

export function createBus({ store, clock, ids, feed }: Ports): Bus {
  const events = store.using(eventsRepository);
  const subscribers: ((tx: Tx, event: ServiceEvent) => Promise<void>)[] = [];
  const prefetches: ((tx: Tx, organization_id: string) => unknown)[] = [];
  return {
    async announce(tx, organization_id, event, data) {
      const announced: ServiceEvent = {
        id: ids.next("evt"),
        organization_id,
        event,
        timestamp: clock.iso(),
        data,
      };
      await events(tx).insert({ ...announced, data: JSON.stringify(data) });
      for (const subscriber of subscribers) await subscriber(tx, announced);
      feed.publish(tx, { kind: "event", ...announced });
    },
    subscribe(subscriber, prefetch) {
      subscribers.push(subscriber);
      if (prefetch) prefetches.push(prefetch);
    },
    prefetch: (tx, organization_id) => prefetches.map((prefetch) => prefetch(tx, organization_id)),
  };
}
