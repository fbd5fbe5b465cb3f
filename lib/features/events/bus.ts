import type { Clock } from "../../kernel/clock.ts";
import type { Ids } from "../../kernel/ids.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { EventData, EventName } from "./catalog.ts";
import type { ChangeFeed, ServiceEvent } from "./change-feed.ts";
import { eventsRepository } from "./repository.ts";

type Subscriber = (tx: Tx, event: ServiceEvent) => Promise<void>;
type Prefetch = (tx: Tx, organization_id: string) => unknown;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly feed: ChangeFeed;
}

export type Bus = ReturnType<typeof createBus>;

/** Announces events in the transaction of their change, so that neither is stored without the other. */
export function createBus({ store, clock, ids, feed }: Ports) {
  const events = store.using(eventsRepository);
  const subscribers: Subscriber[] = [];
  const prefetches: Prefetch[] = [];
  return {
    async announce<E extends EventName>(tx: Tx, organization_id: string, event: E, data: EventData<E>): Promise<void> {
      const announced = { id: ids.next("evt"), organization_id, event, timestamp: clock.iso(), data };
      await events(tx).insert({ ...announced, data: JSON.stringify(data) });
      for (const subscriber of subscribers) await subscriber(tx, announced);
      feed.publish(tx, { kind: "event", ...announced });
    },
    /** Subscribers run in the announcing transaction. `prefetch` starts the reads that each event needs. */
    subscribe(subscriber: Subscriber, prefetch?: Prefetch) {
      subscribers.push(subscriber);
      if (prefetch) prefetches.push(prefetch);
    },
    /** Starts those reads, in a transaction that will announce an event (`Prefetch` of the kernel). */
    prefetch: (tx: Tx, organization_id: string): readonly unknown[] =>
      prefetches.map((prefetch) => prefetch(tx, organization_id)),
  };
}
