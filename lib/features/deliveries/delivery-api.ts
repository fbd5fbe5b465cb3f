import { isoOf, parseInstant } from "../../kernel/clock.ts";
import { invalid, notFound, orNotFound } from "../../kernel/errors.ts";
import { lowestId } from "../../kernel/ids.ts";
import type { Caller } from "../../kernel/operation.ts";
import { mapLong, type PageQuery, paginateLong } from "../../kernel/page.ts";
import { inScope, rolesFor } from "../../kernel/roles.ts";
import type { OrganizationScope, Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { Attempts } from "./attempts.ts";
import type { Outbox } from "./outbox.ts";
import { deliveriesRepository, keptAttempts, recoveryBatch } from "./repository.ts";
import type { Endpoints, Family } from "./service.ts";
import { lifecycle } from "./states.ts";

type Delivery = Row<"deliveries">;
type Endpoint = Row<"endpoints">;
type Attempt = Row<"delivery_attempts">;

interface Ports extends Pick<Core, "store" | "clock" | "ids" | "queue"> {
  readonly endpoints: Endpoints;
  readonly outbox: Outbox;
  readonly attempts: Pick<Attempts, "request">;
}

/** The attempts in one batch of a list. Each may hold 1 KiB of a response, which is up to 6 KiB as JSON. */
const attemptsOfBatch = 160;

const afterEveryId = "~";

/** Turning an endpoint off changes no delivery row: pending deliveries of an older epoch count as skipped. */
const withStatus = (row: Delivery, { epoch }: Endpoint): Delivery =>
  row.status === "pending" && row.epoch < epoch
    ? { ...row, status: lifecycle.moves.skip.to, next_attempt_at: null }
    : row;

export type DeliveryApi = ReturnType<typeof createDeliveryApi>;

/** The deliveries of webhooks and integrations, as callers see them (schema/webhooks.md#deliveries). */
export function createDeliveryApi({ store, clock, ids, queue, endpoints, outbox, attempts: sender }: Ports) {
  const deliveries = store.using(deliveriesRepository);

  /** Consecutive deliveries of an endpoint with their attempts. One query reads the attempts of all. */
  const views = async (endpoint: Endpoint, rows: readonly Delivery[], tx?: Tx) => {
    const [newest, oldest] = [rows[0], rows.at(-1)];
    const attemptRows =
      newest && oldest ? await deliveries(tx).attempts({ ...newest, newest: newest.id, oldest: oldest.id }) : [];
    const attempts = new Map(rows.map(({ id }) => [id, [] as Attempt[]]));
    for (const attempt of attemptRows) attempts.get(attempt.delivery_id)?.push(attempt);
    const attemptsOf = (id: string) => (attempts.get(id) ?? []).sort((one, other) => one.number - other.number);
    return rows.map((row) => ({ ...withStatus(row, endpoint), attempts: attemptsOf(row.id) }));
  };

  const find = ({ organization_id }: Caller, endpoint_id: string, id: string, tx?: Tx) =>
    orNotFound(deliveries(tx).find({ organization_id, endpoint_id, id }), "delivery");

  return {
    async list(family: Family, caller: Caller, id: string, query: PageQuery) {
      const endpoint = await endpoints.get(family, caller, id);
      const { organization_id } = endpoint;
      const filters = { organization_id, endpoint_id: id };
      const weigh = ({ tries }: Delivery) => Math.min(tries, keptAttempts) / attemptsOfBatch;
      const list = paginateLong(query, "deliveries", filters, deliveries().list, { isPaged: true, weigh });
      return mapLong(list, (rows) => views(endpoint, rows));
    },

    async get(family: Family, caller: Caller, id: string, dlv: string) {
      const endpoint = await endpoints.get(family, caller, id);
      const delivery = await find(caller, id, dlv);
      const [view] = await views(endpoint, [delivery]);
      const need = `${family}s:write` as const;
      const mayWrite = rolesFor(need).includes(caller.role) && inScope(caller.scopes, need);
      const request = await sender.request(delivery, mayWrite);
      if (!view || !request) throw notFound("delivery");
      return { ...view, request };
    },

    /** Sends a `ping` event to this endpoint only, even if it is turned off. */
    test: (family: Family, caller: Caller, id: string) =>
      store.transaction(caller, async (tx) => {
        const endpoint = await endpoints.get(family, caller, id, tx);
        const event = {
          id: ids.next("evt"),
          organization_id: caller.organization_id,
          event: "ping",
          timestamp: clock.iso(),
          data: { [`${family}_id`]: id },
        };
        const [delivery] = await outbox.enqueue(tx, { ...endpoint, status: "active" }, event);
        if (!delivery) throw invalid("type", `must be a type that receives events; ${endpoint.type} receives none`);
        return { ...delivery, attempts: [] };
      }),

    redeliver: (family: Family, caller: Caller, id: string, dlv: string) =>
      store.transaction(caller, async (tx) => {
        const endpoint = await endpoints.get(family, caller, id, tx);
        const delivery = await find(caller, id, dlv, tx);
        await queue.add(tx, "deliveries.redeliver", { delivery_id: dlv });
        const [view] = await views(endpoint, [delivery], tx);
        return view ?? { ...delivery, attempts: [] };
      }),

    /**
     * "Sends every failed, abandoned or skipped delivery since then"; does not activate the endpoint. Each batch is its
     * own transaction, so other calls run in between. After an error, the next call sends the rest.
     */
    async recover(family: Family, caller: Caller, id: string, since: string) {
      const start = parseInstant(since) ?? 0;
      const { organization_id, hooks } = caller;
      const key = { organization_id, endpoint_id: id };
      const between: OrganizationScope = { organization_id, hooks: { before: hooks?.before } };
      const recoverRange = (range: { after: string; to: string }, queued: number, scope: OrganizationScope) =>
        store.transaction(scope, async (tx) => {
          const { epoch } = await endpoints.get(family, caller, id, tx);
          const now = clock.iso();
          const recovered = await deliveries(tx).recover({ ...key, ...range, since: isoOf(start), now, epoch });
          if (recovered > 0) await outbox.wake(tx, id, organization_id);
          return { queued: queued + recovered };
        });
      let [after, queued] = [lowestId("dlv", start), 0];
      for (;;) {
        const next = await deliveries().oldestFirst.rows(key, { after, page: 1, per_page: recoveryBatch });
        const to = next.length > recoveryBatch ? next[recoveryBatch - 1]?.id : undefined;
        // Only the last transaction stores a replay for the idempotency key, because its answer has the total.
        if (to === undefined) return recoverRange({ after, to: afterEveryId }, queued, caller);
        ({ queued } = await recoverRange({ after, to }, queued, between));
        after = to;
      }
    },
  };
}
