import type { Outbound, Sent } from "../drivers/outbound.ts";
import type { Bus, ServiceEvent } from "../events/bus.ts";
import type { Queue } from "../jobs/queue.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import { discard, done, type Outcome, until } from "../kernel/job.ts";
import type { Random } from "../kernel/random.ts";
import type { Tx } from "../kernel/unit.ts";
import { version } from "../kernel/version.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { Endpoints } from "./endpoints.ts";
import { headersOf, type Kind } from "./kind.ts";
import { delayAfter, rungs } from "./ladder.ts";
import { withoutSecrets } from "./redact.ts";
import { deliveriesRepository, endpointsRepository } from "./repository.ts";
import { standardHeaders } from "./signature.ts";

type Delivery = Row<"deliveries">;
type Endpoint = Row<"endpoints">;

/** How many tries of one endpoint run side by side: its slow answers take nobody else's place. */
const abreast = 16;

interface Ports {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly queue: Queue;
  readonly endpoints: Endpoints;
  readonly kinds: Readonly<Partial<Record<Endpoint["type"], Kind>>>;
  readonly outbound: Pick<Outbound, "send">;
  /** Up to how much longer a delay of the ladder may be, 0 to 0.1. */
  readonly jitter: number;
  /** Whether signed deliveries carry the headers of Standard Webhooks too. */
  readonly standardWebhooks: boolean;
}

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * The outbox. An event becomes delivery rows in the transaction that announces it; one job an endpoint sends what is due
 * and sleeps until the next try. The try is counted before it is made, so a crash cannot give a seventh.
 */
export function createOutbox({
  store,
  bus,
  clock,
  ids,
  random,
  queue,
  endpoints,
  kinds,
  outbound,
  jitter,
  standardWebhooks,
}: Ports) {
  const rows = store.using(deliveriesRepository);
  const targets = store.using(endpointsRepository);
  const agent = `svc-server/${version()}`;

  const wants = ({ events }: Endpoint, event: string) => {
    const names = JSON.parse(events) as string[];
    return names.includes("*") || names.includes(event);
  };

  /** The deliveries of one event to one endpoint. */
  const enqueue = async (tx: Tx, endpoint: Endpoint, event: Omit<ServiceEvent, "event"> & { event: string }) => {
    const parcels = kinds[endpoint.type]?.parcels(event, endpoints.settingsOf(endpoint)) ?? [];
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
        ...{ created_at: event.timestamp, next_attempt_at: active ? clock.iso() : null, tries: 0, rung: 0 },
      };
      await rows(tx).insert(row);
      made.push(row);
    }
    if (made.some(({ status }) => status === "pending")) await wake(tx, endpoint.id);
    return made;
  };

  /** Rings for a pump that is under way: its job runs already, so a nudge of it does nothing. */
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

  const ofEndpoint = ({ organization_id, endpoint_id }: Delivery) => ({ organization_id, id: endpoint_id });

  /** Counts a try, before it is made; undefined where the ladder has moved on, or the delivery is gone. */
  const count = (id: string, rung: number | undefined) =>
    store.transaction(async (tx) => {
      const now = await rows(tx).forJob({ id });
      if (!now || (rung !== undefined && (now.status !== "pending" || now.rung !== rung))) return undefined;
      return rows(tx).claim({ ...now, rung: rung === undefined ? now.rung : rung + 1 });
    });

  const send = async (claimed: Delivery, endpoint: Endpoint, kind: Kind, signal: AbortSignal) => {
    const at = clock.iso();
    const known = endpoints.settingsOf(endpoint);
    const { url, headers } = kind.address(claimed, known);
    const { secret } = known.secrets;
    const standard =
      standardWebhooks && secret !== undefined ? standardHeaders(secret, claimed.id, at, claimed.body) : {};
    const own = { ...standard, "user-agent": agent, ...headersOf(claimed) };
    const sent = await outbound.send({ url, headers: { ...headers, ...own }, body: claimed.body, signal });
    return { claimed, at, sent: { ...sent, response: withoutSecrets(sent.response, known.secrets) } };
  };

  /** Makes one try; `rung` is the one that the ladder stood at, undefined outside of it. */
  const attempt = async (id: string, rung: number | undefined) => {
    const claimed = await count(id, rung);
    if (!claimed) return undefined;
    const { signal, land } = endpoints.flight(claimed.endpoint_id);
    try {
      const endpoint = await targets().forJob({ id: claimed.endpoint_id });
      const kind = endpoint && kinds[endpoint.type];
      return endpoint && kind && (await send(claimed, endpoint, kind, signal));
    } finally {
      land();
    }
  };

  const note = async (
    tx: Tx,
    { id, organization_id, tries }: Delivery,
    at: string,
    { status, duration_ms, error, response }: Sent,
  ) => {
    const kept = { at, status, duration_ms, error, response };
    await rows(tx).insertAttempt({ delivery_id: id, number: tries, organization_id, ...kept });
  };

  /** "The receiving endpoint acknowledges with any 2xx status." */
  const arrived = ({ status }: Sent) => status !== null && status >= 200 && status <= 299;

  /** After the sixth failure: the endpoint is turned off, "unless it had a success since that event happened". */
  const abandon = async (tx: Tx, delivery: Delivery) => {
    await rows(tx).settle({ ...delivery, status: "abandoned", next_attempt_at: null });
    const endpoint = await targets(tx).forJob({ id: delivery.endpoint_id });
    if (!endpoint || (endpoint.succeeded_at ?? "") >= delivery.created_at || endpoint.status === "inactive") return;
    await targets(tx).update({ ...endpoint, status: "inactive" });
    await rows(tx).skipPending({ ...endpoint, endpoint_id: endpoint.id });
  };

  const settle = async (tx: Tx, before: Delivery, at: string, sent: Sent) => {
    const delivery = await rows(tx).forJob(before);
    if (!delivery) return;
    await note(tx, before, at, sent);
    if (arrived(sent)) {
      await targets(tx).succeeded({ ...ofEndpoint(delivery), at: clock.iso() });
      await rows(tx).settle({ ...delivery, status: "succeeded", next_attempt_at: null });
      return;
    }
    if (delivery.status !== "pending" || delivery.rung !== before.rung) return;
    const delay = delayAfter(delivery.rung, random.fraction() * jitter);
    if (delay === undefined) await abandon(tx, delivery);
    else await rows(tx).settle({ ...delivery, next_attempt_at: isoOf(clock.now() + delay) });
  };

  const tryOnce = async (delivery: Delivery) => {
    if (delivery.rung >= rungs) {
      // The sixth try was counted and its process ended before the answer.
      await store.transaction((tx) => abandon(tx, delivery));
      return;
    }
    const made = await attempt(delivery.id, delivery.rung);
    if (made) await store.transaction((tx) => settle(tx, made.claimed, made.at, made.sent));
  };

  return {
    enqueue,
    wake,
    /** No try is begun any more; what is due stays for the next start. */
    stop() {
      stopping = true;
      for (const ring of bells.values()) ring();
    },

    /** The job `deliveries.pump`: all that is due for one endpoint, some side by side. */
    async pump(endpoint_id: string): Promise<Outcome> {
      const flying = new Map<string, Promise<void>>();
      let fault: unknown;
      const fly = (delivery: Delivery) => {
        const flight = tryOnce(delivery)
          .catch((error) => {
            fault ??= error;
          })
          .finally(() => flying.delete(delivery.id));
        flying.set(delivery.id, flight);
      };
      while (fault === undefined && !stopping) {
        const bell = new Promise<void>((ring) => bells.set(endpoint_id, ring));
        const due = await rows().due({ endpoint_id, now: clock.iso() });
        for (const delivery of due) if (flying.size < abreast && !flying.has(delivery.id)) fly(delivery);
        if (flying.size === 0) break;
        // A new event must not wait for an answer that does not come.
        await Promise.race([...flying.values(), bell]);
      }
      bells.delete(endpoint_id);
      await Promise.all(flying.values());
      if (fault !== undefined) throw fault;
      return until(async (tx) => {
        const next = await rows(tx).next({ endpoint_id });
        return next?.next_attempt_at ? Date.parse(next.next_attempt_at) : undefined;
      });
    },

    /** The job `deliveries.redeliver`: one more try, outside the ladder; its failure turns nothing off. */
    async redeliver(delivery_id: string): Promise<Outcome> {
      const made = await attempt(delivery_id, undefined);
      if (!made) return discard("the delivery or its endpoint was removed");
      return done(async (tx) => {
        const now = await rows(tx).forJob({ id: delivery_id });
        if (!now) return;
        await note(tx, made.claimed, made.at, made.sent);
        if (!arrived(made.sent)) return;
        await targets(tx).succeeded({ ...ofEndpoint(now), at: clock.iso() });
        await rows(tx).settle({ ...now, status: "succeeded", next_attempt_at: null });
      });
    },
  };
}
