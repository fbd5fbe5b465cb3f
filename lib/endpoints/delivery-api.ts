import type { Queue } from "../jobs/queue.ts";
import { type Clock, instant, isoOf } from "../kernel/clock.ts";
import { invalid, notFound } from "../kernel/errors.ts";
import { type Ids, lowestId } from "../kernel/ids.ts";
import type { Caller } from "../kernel/operation.ts";
import { mapPage, type PageQuery, paginate } from "../kernel/page.ts";
import type { TransactionHooks } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { Outbox } from "./outbox.ts";
import { deliveriesRepository, stride } from "./repository.ts";
import type { Endpoints, Family } from "./service.ts";
import { lifecycle } from "./states.ts";

type Delivery = Row<"deliveries">;
type Endpoint = Row<"endpoints">;
type Try = Omit<Row<"delivery_attempts">, "delivery_id" | "organization_id">;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly queue: Queue;
  readonly endpoints: Endpoints;
  readonly outbox: Outbox;
}

/** Sorts behind every identifier. */
const behind = "~";

/** What was pending when its endpoint was turned off is shown as what it has become. */
const shownOf = (row: Delivery, { epoch }: Endpoint): Delivery =>
  row.status === "pending" && row.epoch < epoch
    ? { ...row, status: lifecycle.moves.skip.to, next_attempt_at: null }
    : row;

export type DeliveryApi = ReturnType<typeof createDeliveryApi>;

/** What callers see and do of deliveries, the same for webhooks and integrations. CONTRACT section 9. */
export function createDeliveryApi({ store, clock, ids, queue, endpoints, outbox }: Ports) {
  const deliveries = store.using(deliveriesRepository);

  /** Deliveries that follow each other in the list of an endpoint, with all their tries: one query, however many. */
  const views = async (endpoint: Endpoint, rows: readonly Delivery[]) => {
    const [newest, oldest] = [rows[0], rows.at(-1)];
    const found =
      newest && oldest ? await deliveries().attempts({ ...newest, newest: newest.id, oldest: oldest.id }) : [];
    const tries = new Map(rows.map(({ id }) => [id, [] as Try[]]));
    for (const { delivery_id, number, at, status, duration_ms, error, response } of found)
      tries.get(delivery_id)?.push({ number, at, status, duration_ms, error, response });
    const attemptsOf = (id: string) => (tries.get(id) ?? []).sort((one, other) => one.number - other.number);
    return rows.map((row) => ({ ...shownOf(row, endpoint), attempts: attemptsOf(row.id) }));
  };

  return {
    async list(family: Family, caller: Caller, id: string, query: PageQuery) {
      const endpoint = await endpoints.get(family, caller, id);
      const { organization_id } = endpoint;
      const page = await paginate(query, "deliveries", { organization_id, endpoint_id: id }, deliveries().list);
      return mapPage({ ...page, data: await views(endpoint, page.data) }, (one) => one);
    },

    /** A `ping` event, to this endpoint alone; it is sent to one that is turned off, too. */
    test: (family: Family, caller: Caller, id: string) =>
      store.transaction(async (tx) => {
        const endpoint = await endpoints.get(family, caller, id, tx);
        const data = { [`${family}_id`]: id };
        const event = {
          id: ids.next("evt"),
          organization_id: caller.organization_id,
          event: "ping",
          timestamp: clock.iso(),
          data,
        };
        const [made] = await outbox.enqueue(tx, { ...endpoint, status: "active" }, event);
        if (!made) throw invalid("type", `must be one that is sent events; a ${endpoint.type} is sent none`);
        return { ...made, attempts: [] };
      }, caller),

    redeliver: (family: Family, caller: Caller, id: string, dlv: string) =>
      store.transaction(async (tx) => {
        const endpoint = await endpoints.get(family, caller, id, tx);
        const { organization_id } = endpoint;
        const found = await deliveries(tx).find({ organization_id, endpoint_id: id, id: dlv });
        if (!found) throw notFound("delivery");
        await queue.add(tx, "deliveries.redeliver", { delivery_id: dlv });
        const [shown] = await views(endpoint, [found]);
        return shown ?? { ...found, attempts: [] };
      }, caller),

    /**
     * "Sends every failed, abandoned or skipped delivery since then"; it turns nothing on. Each stride is a transaction of
     * its own, and others have their turn in between; what is left by one that breaks off, the next call sends.
     */
    async recover(family: Family, caller: Caller, id: string, since: string) {
      const at = instant(since) ?? 0;
      const key = { organization_id: caller.organization_id, endpoint_id: id };
      const send = (stretch: { after: string; to: string }, before: number, by: TransactionHooks) =>
        store.transaction(async (tx) => {
          const { epoch } = await endpoints.get(family, caller, id, tx);
          const more = await deliveries(tx).recover({ ...key, ...stretch, since: isoOf(at), now: clock.iso(), epoch });
          if (more > 0) await outbox.wake(tx, id);
          return { queued: before + more };
        }, by);
      let [after, queued] = [lowestId("dlv", at), 0];
      for (;;) {
        const next = await deliveries().oldest.rows(key, { after, page: 1, per_page: stride });
        const to = next.length > stride ? next[stride - 1]?.id : undefined;
        // The answer that an idempotency key is given again is that of the last one, which has counted all.
        if (to === undefined) return send({ after, to: behind }, queued, caller);
        ({ queued } = await send({ after, to }, queued, caller.confirm ? { confirm: caller.confirm } : {}));
        after = to;
      }
    },
  };
}
