import type { Bus } from "../events/bus.ts";
import type { ServiceEvent } from "../events/change-feed.ts";
import type { Queue } from "../jobs/queue.ts";
import type { Clock } from "../kernel/clock.ts";
import { notFound } from "../kernel/errors.ts";
import { type Ids, lowestId } from "../kernel/ids.ts";
import { discard, done, type Outcome, until } from "../kernel/job.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { Counted, Made, Tries } from "./attempts.ts";
import { maxAttempts } from "./backoff.ts";
import type { Kind } from "./endpoint-kind.ts";
import { deliveriesRepository, endpointsRepository } from "./repository.ts";
import type { Endpoints } from "./service.ts";

type Delivery = Row<"deliveries">;
type Endpoint = Row<"endpoints">;

/** How many tries of one endpoint run side by side: its slow answers take nobody else's place. */
const abreast = 32;

interface Ports {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly queue: Queue;
  readonly endpoints: Endpoints;
  readonly kinds: Readonly<Partial<Record<Endpoint["type"], Kind>>>;
  readonly tries: Tries;
  /** How long deliveries and their attempts are kept. */
  readonly retention_ms: number;
}

/** A try whose end comes later, as its job keeps it. */
export interface OpenTry {
  readonly delivery_id: string;
  readonly number: number;
  readonly rung: number | null;
  readonly at: string;
  readonly error: string | null;
  readonly duration_ms: number;
}

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * The outbox. An event becomes delivery rows in the transaction that announces it; one job an endpoint sends what is due
 * and sleeps until the next try. The try is counted before it is made, so a crash cannot give a seventh.
 */
export function createOutbox({ store, bus, clock, ids, queue, endpoints, kinds, tries, retention_ms }: Ports) {
  const rows = store.using(deliveriesRepository);
  const targets = store.using(endpointsRepository);

  const wants = ({ events }: Endpoint, event: string) => {
    const names = JSON.parse(events) as string[];
    return names.includes("*") || names.includes(event);
  };

  /** The deliveries of one event to one endpoint. */
  const enqueue = async (tx: Tx, endpoint: Endpoint, event: Omit<ServiceEvent, "event"> & { event: string }) => {
    const parcels = kinds[endpoint.type]?.parcels(event, endpoints.configOf(endpoint)) ?? [];
    const made: Delivery[] = [];
    for (const { target, body } of parcels) {
      const active = endpoint.status === "active";
      const row: Delivery = {
        ...{ id: ids.next("dlv"), organization_id: endpoint.organization_id, endpoint_id: endpoint.id },
        ...{
          event_id: event.id,
          event: event.event,
          target,
          body,
          status: active ? ("pending" as const) : ("skipped" as const),
        },
        ...{ created_at: event.timestamp, next_attempt_at: active ? clock.iso() : null },
        ...{ tries: 0, rung: 0, epoch: endpoint.epoch },
      };
      await rows(tx).insert(row);
      made.push(row);
    }
    if (made.some(({ status }) => status === "pending")) await wake(tx, endpoint.id);
    return made;
  };

  /** Rings for a pump that is under way, where a try has landed or its job was nudged, which does nothing while it runs. */
  const bells = new Map<string, () => void>();
  let stopping = false;

  const wake = async (tx: Tx, endpoint_id: string) => {
    await queue.nudge(tx, "deliveries.pump", { endpoint_id }, endpoint_id);
    tx.afterCommit(() => bells.get(endpoint_id)?.());
  };

  bus.subscribe(async (tx, event) => {
    for (const endpoint of await targets(tx).ofOrganization(event)) {
      if (wants(endpoint, event.event)) await enqueue(tx, endpoint, event);
    }
  });

  /** What is due next, so that not every turn has to ask. It may be over by its turn, which counting finds out. */
  const lookAhead = async (tx: Tx, endpoint_id: string, flying: ReadonlyMap<string, unknown>) => {
    const due = (await rows(tx).due({ endpoint_id, now: clock.iso() })).filter(({ id }) => !flying.has(id));
    for (const delivery of due) if (delivery.rung >= maxAttempts) await tries.giveUp(tx, delivery);
    return due.filter(({ rung }) => rung < maxAttempts);
  };

  const tryOutside = async (delivery_id: string): Promise<Made | undefined> => {
    const delivery = await rows().forJob({ id: delivery_id });
    if (!delivery) return undefined;
    // Taken before the try is counted: a deletion may share the commit with that.
    const flight = endpoints.flight(delivery.endpoint_id);
    try {
      const counted = await store.transaction((tx) => tries.countOne(tx, delivery_id));
      return counted && (await tries.send(counted, flight.signal));
    } finally {
      flight.land();
    }
  };

  return {
    enqueue,
    wake,
    /** No try is begun any more; what is due stays for the next start. */
    stop() {
      stopping = true;
      for (const ring of bells.values()) ring();
    },

    /** What has come to its end is forgotten in time; what was skipped or abandoned can be recovered until then. */
    async prune() {
      const below = lowestId("dlv", clock.now() - retention_ms);
      while ((await store.transaction((tx) => rows(tx).prune({ below }))) > 0);
    },

    /** How many deliveries, of every organization, have not come to their end. */
    pending: () => rows().pending({}),

    /**
     * The job `deliveries.pump`: all that is due for one endpoint, some side by side. Each turn is one transaction: what
     * has landed is settled in it, and what goes out next is counted.
     */
    async pump(endpoint_id: string): Promise<Outcome> {
      const flying = new Map<string, Promise<void>>();
      let landed: Made[] = [];
      let ahead: Delivery[] = [];
      let fault: { readonly error: unknown } | undefined;
      const flight = endpoints.flight(endpoint_id);
      const ringing = () => new Promise<void>((ring) => bells.set(endpoint_id, ring));
      let bell = ringing();
      const fly = async (counted: Counted) => {
        try {
          const made = await tries.send(counted, flight.signal);
          landed.push(made);
        } catch (error) {
          fault ??= { error };
        }
        flying.delete(counted.delivery.id);
        bells.get(endpoint_id)?.();
      };
      const turn = async (tx: Tx) => {
        // Taken as late as this, so that answers of the same moment share the commit.
        const settled = landed;
        landed = [];
        bell = ringing();
        await tries.settle(tx, settled);
        const room = stopping || fault ? 0 : abreast - flying.size;
        if (room > 0 && ahead.length === 0) ahead = await lookAhead(tx, endpoint_id, flying);
        return tries.count(tx, endpoint_id, ahead.splice(0, room));
      };
      try {
        for (;;) {
          for (const counted of await store.transaction(turn)) flying.set(counted.delivery.id, fly(counted));
          if (flying.size === 0 && landed.length === 0) break;
          // A new event must not wait for an answer that does not come, and rings for nothing while there is no room.
          while (landed.length === 0 && flying.size > 0) {
            await bell;
            if (flying.size < abreast) break;
            bell = ringing();
          }
        }
      } finally {
        bells.delete(endpoint_id);
        await Promise.all(flying.values());
        flight.land();
      }
      if (fault) throw fault.error;
      return until(async (tx) => {
        const next = await rows(tx).next({ endpoint_id });
        return next?.next_attempt_at ? Date.parse(next.next_attempt_at) : undefined;
      });
    },

    /** The job `deliveries.redeliver`: one more try, outside the ladder; its failure turns nothing off. */
    async redeliver(delivery_id: string): Promise<Outcome> {
      const made = await tryOutside(delivery_id);
      return made ? done((tx) => tries.settleOutside(tx, made)) : discard("the delivery or its endpoint was removed");
    },

    /** The same at once and one after the other, for a tester who decides about the order; 404, and no try, for an unknown one. */
    async deliver(deliveries: readonly string[]): Promise<void> {
      for (const id of new Set(deliveries)) if (!(await rows().forJob({ id }))) throw notFound("delivery");
      for (const id of deliveries) {
        const made = await tryOutside(id);
        // Its receiver may have taken it away meanwhile.
        if (!made) throw notFound("delivery");
        await store.transaction((tx) => tries.settleOutside(tx, made));
      }
    },

    /** The job `deliveries.end`: a try that was left open comes to its end. `rung` is null outside the ladder. */
    async end({ delivery_id, number, rung, at, error, duration_ms }: OpenTry): Promise<Outcome> {
      const delivery = await rows().forJob({ id: delivery_id });
      if (!delivery) return discard("the delivery or its endpoint was removed");
      const sent = { status: null, response: null, error, duration_ms };
      const made = { delivery: { ...delivery, tries: number, rung: rung ?? delivery.rung }, at, sent };
      return done(async (tx) => {
        if (rung === null) return tries.settleOutside(tx, made);
        await tries.settle(tx, [made]);
        await wake(tx, delivery.endpoint_id);
      });
    },
  };
}
