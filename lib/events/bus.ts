import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { EventData, EventName } from "./catalog.ts";
import type { Feed, ServiceEvent } from "./change-feed.ts";
import { eventsRepository } from "./repository.ts";

/** Announces what happened, in the transaction that makes it happen: no change without its event, no event without it. */
export interface Bus {
  announce<E extends EventName>(tx: Tx, organization_id: string, event: E, data: EventData<E>): Promise<void>;
  /** Called in the announcing transaction, before the commit: where deliveries are written. */
  subscribe(subscriber: (tx: Tx, event: ServiceEvent) => Promise<void>): void;
}

export function createBus({ store, clock, ids, feed }: { store: Store; clock: Clock; ids: Ids; feed: Feed }): Bus {
  const events = store.using(eventsRepository);
  const subscribers: ((tx: Tx, event: ServiceEvent) => Promise<void>)[] = [];
  return {
    async announce(tx, organization_id, event, data) {
      const happened: ServiceEvent = {
        id: ids.next("evt"),
        organization_id,
        event,
        timestamp: clock.iso(),
        data,
      };
      await events(tx).insert({ ...happened, data: JSON.stringify(data) });
      for (const subscriber of subscribers) await subscriber(tx, happened);
      feed.tell(tx, { kind: "event", ...happened });
    },
    subscribe: (subscriber) => void subscribers.push(subscriber),
  };
}
