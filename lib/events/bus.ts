import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Tx } from "../kernel/unit.ts";
import type { Store } from "../store/store.ts";
import type { EventData, EventName } from "./catalog.ts";
import { eventsRepository } from "./repository.ts";

/** What happened, as it is stored and delivered. */
export interface ServiceEvent {
  readonly id: string;
  readonly organization_id: string;
  readonly event: EventName;
  readonly timestamp: string;
  readonly data: object;
}

/** Announces what happened, in the transaction that makes it happen: no change without its event, no event without it. */
export interface Bus {
  announce<E extends EventName>(tx: Tx, organization_id: string, event: E, data: EventData<E>): Promise<void>;
  /** Called in the announcing transaction, before the commit: where deliveries are written. */
  subscribe(subscriber: (tx: Tx, event: ServiceEvent) => Promise<void>): void;
  /** Called once the event is durable. Answers how to stop listening. */
  listen(listener: (event: ServiceEvent) => void): () => void;
}

export function createBus({ store, clock, ids, log }: { store: Store; clock: Clock; ids: Ids; log: Log }): Bus {
  const events = store.using(eventsRepository);
  const subscribers: ((tx: Tx, event: ServiceEvent) => Promise<void>)[] = [];
  const listeners = new Set<(event: ServiceEvent) => void>();
  const tell = (listener: (event: ServiceEvent) => void, event: ServiceEvent) => {
    try {
      listener(event);
    } catch (error) {
      log.error("a listener failed", { event: event.event, reason: reasonOf(error) });
    }
  };
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
      tx.afterCommit(() => {
        for (const listener of listeners) tell(listener, happened);
      });
    },
    subscribe: (subscriber) => void subscribers.push(subscriber),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
