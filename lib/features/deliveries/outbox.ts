import type * as v from "valibot";
import { lowestId } from "../../kernel/ids.ts";
import { discard, done, type Lease, type Outcome, snooze, snoozeUntil } from "../../kernel/job.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { ServiceEvent } from "../events/change-feed.ts";
import type { AttemptResult, Attempts, StartedAttempt } from "./attempts.ts";
import { maxAttempts } from "./backoff.ts";
import type { DeliveryFormat } from "./delivery-format.ts";
import { endpointsRepository } from "./endpoint-repository.ts";
import { createRedeliveries } from "./redeliveries.ts";
import { concurrency, deliveriesRepository } from "./repository.ts";
import type { openAttempt } from "./schema.ts";
import type { Endpoints } from "./service.ts";

type Delivery = Row<"deliveries">;
type Endpoint = Row<"endpoints">;

interface Ports extends Pick<Core, "store" | "bus" | "feed" | "clock" | "ids" | "queue"> {
  readonly endpoints: Endpoints;
  readonly formats: Readonly<Partial<Record<Endpoint["type"], DeliveryFormat>>>;
  readonly attempts: Attempts;
  /** Undefined for an unknown project. */
  readonly projectName: (tx: Tx, organization_id: string, project_id: string) => Promise<string | undefined>;
  readonly retention_ms: number;
}

export type Outbox = ReturnType<typeof createOutbox>;

/** Each endpoint has one job, which sends its due deliveries, so that a slow endpoint delays no other. */
export function createOutbox(ports: Ports) {
  const { store, bus, feed, clock, ids, queue, endpoints, formats, attempts, projectName, retention_ms } = ports;
  const deliveries = store.using(deliveriesRepository);
  const endpointRows = store.using(endpointsRepository);

  const subscribesTo = ({ events }: Endpoint, event: string) => {
    const names = JSON.parse(events) as string[];
    return names.includes("*") || names.includes(event);
  };

  const enqueue = async (tx: Tx, endpoint: Endpoint, event: Omit<ServiceEvent, "event"> & { event: string }) => {
    const nameOf = async (id: string) => (await projectName(tx, endpoint.organization_id, id)) ?? id;
    const payloads = (await formats[endpoint.type]?.payloads(event, endpoints.configOf(endpoint), nameOf)) ?? [];
    const isActive = endpoint.status === "active";
    const inserted: Delivery[] = [];
    for (const { target, body } of payloads) {
      const row: Delivery = {
        id: ids.next("dlv"),
        organization_id: endpoint.organization_id,
        endpoint_id: endpoint.id,
        event_id: event.id,
        event: event.event,
        target,
        body,
        status: isActive ? "pending" : "skipped",
        created_at: event.timestamp,
        next_attempt_at: isActive ? clock.iso() : null,
        tries: 0,
        rung: 0,
        epoch: endpoint.epoch,
      };
      await deliveries(tx).insert(row);
      inserted.push(row);
    }
    if (isActive && inserted.length > 0) await wake(tx, endpoint.id, endpoint.organization_id);
    return inserted;
  };

  /** Wakes an endpoint's running pump. Adding its job again has no effect while the job runs. */
  const wakeUps = new Map<string, () => void>();
  let stopping = false;

  const wake = async (tx: Tx, endpoint_id: string, organization_id?: string) => {
    const args = organization_id === undefined ? { endpoint_id } : { endpoint_id, organization_id };
    await queue.addUnique(tx, "deliveries.pump", args, endpoint_id);
    tx.afterCommit(() => wakeUps.get(endpoint_id)?.());
    feed.wake(tx, "pump", endpoint_id);
  };
  feed.onWake("pump", (endpoint_id) => wakeUps.get(endpoint_id)?.());

  const endpointsOf = (tx: Tx, organization_id: string) => endpointRows(tx).ofOrganization({ organization_id });
  bus.subscribe(async (tx, event) => {
    for (const endpoint of await endpointsOf(tx, event.organization_id)) {
      if (subscribesTo(endpoint, event.event)) await enqueue(tx, endpoint, event);
    }
  }, endpointsOf);

  const readDue = async (tx: Tx, endpoint_id: string, inFlight: ReadonlySet<string>) => {
    const due = (await deliveries(tx).due({ endpoint_id, now: clock.iso() })).filter(({ id }) => !inFlight.has(id));
    for (const delivery of due) if (delivery.rung >= maxAttempts) await attempts.abandonLost(tx, delivery);
    return due.filter(({ rung }) => rung < maxAttempts);
  };

  const nextDue = async (tx: Tx, endpoint_id: string) => {
    const next = await deliveries(tx).next({ endpoint_id });
    return next?.next_attempt_at ? Date.parse(next.next_attempt_at) : undefined;
  };

  return {
    enqueue,
    wake,
    ...createRedeliveries(ports),
    /** Starts no more attempts. Due deliveries wait for the next start of the service. */
    stop() {
      stopping = true;
      for (const wakeUp of wakeUps.values()) wakeUp();
    },

    /** Deletes ended deliveries after the retention. Until then, skipped and abandoned ones can be recovered. */
    async prune() {
      const below = lowestId("dlv", clock.now() - retention_ms);
      while ((await store.transaction("rows", (tx) => deliveries(tx).prune({ below }))) > 0);
    },

    /** Whether an active endpoint of any organization receives this event; `*` means any event. */
    async hasSubscriber(event: string): Promise<boolean> {
      const types = Object.keys(formats) as Endpoint["type"][];
      const rows = (await Promise.all(types.map((type) => endpointRows().ofType({ type })))).flat();
      return rows.some((one) => one.status === "active" && (event === "*" || subscribesTo(one, event)));
    },

    /** The number of pending deliveries of all organizations, or of one. */
    pending: (organization_id?: string) =>
      organization_id === undefined ? deliveries().pending({}) : deliveries().pendingIn({ organization_id }),

    /**
     * The job `deliveries.pump`: sends all due deliveries of one endpoint, some concurrently. Each tick is one
     * transaction, which settles the responses so far and counts the next attempts. After its lease is lost, the job
     * still settles but sends nothing more.
     */
    async pump(lease: Lease, endpoint_id: string, organization_id?: string): Promise<Outcome> {
      // Older jobs have no `organization_id`.
      const scope = organization_id ? { organization_id } : await endpointRows().forJob({ id: endpoint_id });
      if (!scope) return discard("the endpoint was removed");
      /** Attempts whose results are not committed yet. Their rows stay due until then. */
      const inFlight = new Map<string, Promise<void>>();
      const results: AttemptResult[] = [];
      let settling: readonly AttemptResult[] = [];
      let failure: { readonly error: unknown } | undefined;
      const deletion = endpoints.deletionSignal(endpoint_id);
      const maySend = () => !stopping && !failure && lease.isHeld();
      let end = () => {};
      const nextWakeUp = () =>
        new Promise<void>((resolve) => {
          end = resolve;
        });
      let wakeUp = nextWakeUp();
      const wakeThis = () => end();
      wakeUps.set(endpoint_id, wakeThis);
      const send = async (started: StartedAttempt) => {
        try {
          const result = await attempts.send(started, deletion.signal, lease);
          if (result === "lease_lost") inFlight.delete(started.delivery.id);
          else results.push(result);
        } catch (error) {
          failure ??= { error };
          inFlight.delete(started.delivery.id);
        }
        wakeThis();
      };
      const tick = async (tx: Tx) => {
        // Read inside the transaction, so that responses that arrive while it waits share its commit.
        settling = [...results];
        wakeUp = nextWakeUp();
        await attempts.settle(tx, settling);
        const others = new Set(inFlight.keys());
        for (const { delivery } of settling) others.delete(delivery.id);
        const free = concurrency - others.size;
        const due = free > 0 && maySend() ? await readDue(tx, endpoint_id, others) : [];
        // Checked again, because time has passed.
        return maySend() ? attempts.start(tx, endpoint_id, due.slice(0, free)) : [];
      };
      try {
        for (;;) {
          const begun = await store.transaction(scope, tick);
          // Outside the transaction, which may run twice.
          for (const { delivery } of results.splice(0, settling.length)) inFlight.delete(delivery.id);
          for (const started of begun) inFlight.set(started.delivery.id, send(started));
          if (inFlight.size === 0) break;
          // A new event starts a tick even with responses outstanding, unless all slots are taken.
          while (results.length === 0 && inFlight.size > 0) {
            await wakeUp;
            if (inFlight.size < concurrency) break;
            wakeUp = nextWakeUp();
          }
        }
      } catch (error) {
        failure ??= { error };
      }
      // If the lease was lost, the entry may belong to the job's next run.
      if (wakeUps.get(endpoint_id) === wakeThis) wakeUps.delete(endpoint_id);
      await Promise.all(inFlight.values());
      deletion.release();
      // A transaction failed. The job keeps its results until the store accepts writes: if they were lost, their
      // deliveries would be sent again.
      if (results.length > 0) return snooze(0, (tx) => attempts.settle(tx, results), scope);
      if (failure) throw failure.error;
      return snoozeUntil((tx) => nextDue(tx, endpoint_id), "rows");
    },

    /** The job `deliveries.end`: ends a simulated timeout. */
    async end({
      delivery_id,
      number,
      rung,
      at,
      error,
      duration_ms,
    }: v.InferOutput<typeof openAttempt>): Promise<Outcome> {
      const delivery = await deliveries().forJob({ id: delivery_id });
      if (!delivery) return discard("the delivery or its endpoint was removed");
      const sent = { status: null, response: null, error, duration_ms };
      const result = { delivery: { ...delivery, tries: number, rung: rung ?? delivery.rung }, at, sent };
      return done(async (tx) => {
        if (rung === null) return attempts.settleRedelivery(tx, result);
        await attempts.settle(tx, [result]);
        await wake(tx, delivery.endpoint_id, delivery.organization_id);
      }, delivery);
    },
  };
}
