import { sql } from "kysely";
import type { Writer } from "../store/engine.ts";
import type { Queries } from "../store/query.ts";
import type { Row } from "../store/tables.ts";
import { maxAttempts } from "./backoff.ts";

type Key = { organization_id: string; id: string };
type Whose = { organization_id: string; endpoint_id: string };
type Family = Row<"endpoints">["family"];

/** A partial index is used only where its condition stands in the text, word for word. */
const pending = sql<boolean>`status = 'pending'`;
/**
 * The epoch that an endpoint is in; null for one that was deleted, and whose rows are still being taken away. Turning it
 * off begins a new one: what is pending of an older one counts as skipped from then on, however much that is.
 */
const epochOf = (endpoint_id: unknown) =>
  sql<number | null>`(select epoch from endpoints where endpoints.id = ${endpoint_id} and type <> 'removed')`;
const itsEpoch = epochOf(sql.ref("deliveries.endpoint_id"));
const itsEndpointStands = sql<boolean>`${itsEpoch} is not null`;
const current = sql<boolean>`epoch = ${itsEpoch}`;
const queueOf = (db: Writer, endpoint_id: string) =>
  db
    .selectFrom("deliveries")
    .where(pending)
    .where("endpoint_id", "=", endpoint_id)
    .where("epoch", "=", epochOf(endpoint_id))
    .orderBy("next_attempt_at")
    .orderBy("id");
/** How many deliveries one transaction takes away, with all their tries, or sends again: some milliseconds of work. */
export const slice = 50;
export const stride = 500;

export function endpointsRepository(query: Queries) {
  return {
    insert: query.insert("endpoints"),
    list: query.pages({ table: "endpoints", within: ["organization_id", "family"] }),
    find: query.first((db, p: Key & { family: Family }) =>
      db
        .selectFrom("endpoints")
        .selectAll()
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .where("family", "=", p.family),
    ),
    count: query.count((db, p: { organization_id: string; family: Family }) =>
      db
        .selectFrom("endpoints")
        .select("id")
        .where("organization_id", "=", p.organization_id)
        .where("family", "=", p.family),
    ),
    ofOrganization: query.all((db, p: { organization_id: string }) =>
      db
        .selectFrom("endpoints")
        .selectAll()
        .where("organization_id", "=", p.organization_id)
        .orderBy("family")
        .orderBy("id"),
    ),
    update: query.first((db, p: Key & Omit<Row<"endpoints">, "succeeded_at" | "created_at">) =>
      db
        .updateTable("endpoints")
        .set({ family: p.family, type: p.type, name: p.name, status: p.status })
        .set({ events: p.events, config: p.config, sealed: p.sealed, epoch: p.epoch })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .returningAll(),
    ),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("endpoints").where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
    succeeded: query.change((db, p: Key & { at: string }) =>
      db
        .updateTable("endpoints")
        .set({ succeeded_at: p.at })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .where((eb) => eb.or([eb("succeeded_at", "is", null), eb("succeeded_at", "<", p.at)])),
    ),
    /** Pushes of the connected app reach every organization. */
    ofType: query.all((db, p: { type: Row<"endpoints">["type"] }) =>
      db.selectFrom("endpoints").selectAll().where("type", "=", p.type).orderBy("id"),
    ),
    /** The job loop's: it works for every organization. */
    forJob: query.first((db, p: { id: string }) => db.selectFrom("endpoints").selectAll().where("id", "=", p.id)),
  };
}

export function deliveriesRepository(query: Queries) {
  return {
    insert: query.insert("deliveries"),
    list: query.pages({ table: "deliveries", within: ["endpoint_id", "organization_id"] }),
    oldest: query.pages({
      table: "deliveries",
      within: ["endpoint_id", "organization_id"],
      order: "asc",
      columns: ["id"],
    }),
    find: query.first((db, p: Key & { endpoint_id: string }) =>
      db
        .selectFrom("deliveries")
        .selectAll()
        .where("id", "=", p.id)
        .where("endpoint_id", "=", p.endpoint_id)
        .where("organization_id", "=", p.organization_id),
    ),
    /** Of deliveries that follow each other in the list of an endpoint, in no order: each has a few. */
    attempts: query.all((db, p: Whose & { oldest: string; newest: string }) =>
      db
        .selectFrom("deliveries")
        .innerJoin("delivery_attempts", "delivery_attempts.delivery_id", "deliveries.id")
        .selectAll("delivery_attempts")
        .where("deliveries.endpoint_id", "=", p.endpoint_id)
        .where("deliveries.organization_id", "=", p.organization_id)
        .where("deliveries.id", ">=", p.oldest)
        .where("deliveries.id", "<=", p.newest),
    ),
    insertAttempt: query.insert("delivery_attempts"),
    /** Counts a try of the ladder, unless the ladder has moved on or another try was counted. */
    count: query.change((db, p: Key & Pick<Row<"deliveries">, "tries" | "rung"> & { number: number; next: number }) =>
      db
        .updateTable("deliveries")
        .set({ tries: p.number, rung: p.next })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .where("tries", "=", p.tries)
        .where("rung", "=", p.rung)
        .where(pending)
        .where(current),
    ),
    succeed: query.change((db, p: Key) =>
      db
        .updateTable("deliveries")
        .set({ status: "succeeded", next_attempt_at: null })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .where(itsEndpointStands),
    ),
    /** What a failed try leaves, unless the ladder has moved on. */
    fail: query.change((db, p: Key & Pick<Row<"deliveries">, "status" | "next_attempt_at" | "rung">) =>
      db
        .updateTable("deliveries")
        .set({ status: p.status, next_attempt_at: p.next_attempt_at })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .where("rung", "=", p.rung)
        .where(pending)
        .where(current),
    ),
    /** Takes along into a new epoch those whose last try is under way: that decides about them. */
    keepLast: query.change((db, p: Whose & { epoch: number }) =>
      db
        .updateTable("deliveries")
        .set({ epoch: p.epoch })
        .where("endpoint_id", "=", p.endpoint_id)
        .where("organization_id", "=", p.organization_id)
        .where("rung", "=", sql.lit(maxAttempts))
        .where(pending),
    ),
    /** Everything of a stretch that happened since then and did not arrive. */
    recover: query.change((db, p: Whose & { after: string; to: string; since: string; now: string; epoch: number }) =>
      db
        .updateTable("deliveries")
        .set({ status: "pending", next_attempt_at: p.now, rung: 0, epoch: p.epoch })
        .where("endpoint_id", "=", p.endpoint_id)
        .where("organization_id", "=", p.organization_id)
        .where("id", ">", p.after)
        .where("id", "<=", p.to)
        .where("created_at", ">=", p.since)
        .where((eb) =>
          eb.or([
            eb("status", "in", ["abandoned", "skipped"]),
            eb.and([eb("status", "=", "pending"), eb.or([eb("rung", ">", 0), eb("epoch", "<", p.epoch)])]),
          ]),
        ),
    ),

    /** By the time in their identifiers, so that no index has to be kept for it. */
    prune: query.change((db, p: { below: string }) =>
      db.deleteFrom("deliveries").where("id", "in", (eb) =>
        eb
          .selectFrom("deliveries")
          .select("id")
          .where("id", "<", p.below)
          .where((its) => its.or([its("status", "!=", "pending"), its.not(current)]))
          .orderBy("id")
          .limit(sql.lit(slice)),
      ),
    ),

    /** The job loop's: one endpoint at a time, whosever it is. */
    due: query.all((db, p: { endpoint_id: string; now: string }) =>
      queueOf(db, p.endpoint_id).selectAll().where("next_attempt_at", "<=", p.now).limit(sql.lit(128)),
    ),
    next: query.first((db, p: { endpoint_id: string }) =>
      queueOf(db, p.endpoint_id).select("next_attempt_at").where("next_attempt_at", "is not", null).limit(sql.lit(1)),
    ),
    /** Of every organization: a metric. Endpoints are few, so each is asked for its own. */
    pending: query.count((db, _: object) =>
      db
        .selectFrom("endpoints")
        .crossJoin("deliveries")
        .select("deliveries.id")
        .whereRef("endpoint_id", "=", "endpoints.id")
        .whereRef("deliveries.epoch", "=", "endpoints.epoch")
        .where("type", "!=", "removed")
        .where(sql<boolean>`deliveries.${pending}`),
    ),
    succeededAfter: query.first((db, p: { endpoint_id: string; id: string }) =>
      db
        .selectFrom("deliveries")
        .select("id")
        .where("endpoint_id", "=", p.endpoint_id)
        .where("id", ">", p.id)
        .where("status", "=", "succeeded")
        .limit(sql.lit(1)),
    ),
    countOutside: query.first((db, p: { id: string }) =>
      db
        .updateTable("deliveries")
        .set((eb) => ({ tries: eb("tries", "+", 1) }))
        .where("id", "=", p.id)
        .returningAll(),
    ),
    forJob: query.first((db, p: { id: string }) =>
      db.selectFrom("deliveries").selectAll().where("id", "=", p.id).where(itsEndpointStands),
    ),

    /** A slice of an endpoint's newest deliveries, with their tries; answers how many went. */
    removeSome: query.change((db, p: Whose) =>
      db
        .deleteFrom("deliveries")
        .where("id", "in", (eb) =>
          eb
            .selectFrom("deliveries")
            .select("id")
            .where("endpoint_id", "=", p.endpoint_id)
            .where("organization_id", "=", p.organization_id)
            .orderBy("id", "desc")
            .limit(sql.lit(slice)),
        ),
    ),
  };
}
