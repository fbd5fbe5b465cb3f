import { sql } from "kysely";
import type { QueryBuilder } from "../../store/engine.ts";
import { equal, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";
import { maxAttempts } from "./backoff.ts";

type Of = { organization_id: string };
type Key = Of & { id: string };
type OfEndpoint = Of & { endpoint_id: string };
/** `tries` counts all attempts; `rung` counts those of the retry schedule, which a recovery restarts. */
type Counters = Pick<Row<"deliveries">, "tries" | "rung">;

/** SQLite uses a partial index only if the query contains the index's condition word for word. */
const isPending = sql<boolean>`status = 'pending'`;
/** Metrics count pending deliveries per endpoint, because their index begins with the endpoint. */
const pendingWithin = (db: QueryBuilder) =>
  db
    .selectFrom("endpoints")
    .crossJoin("deliveries")
    .select("deliveries.id")
    .where(sql<boolean>`endpoint_id = endpoints.id and deliveries.epoch = endpoints.epoch and type <> 'removed'`)
    .where(sql<boolean>`deliveries.${isPending}`);
/** The endpoint's epoch; null once it is deleted. Turning it off begins an epoch: older deliveries count as skipped. */
const epochOf = (endpoint_id: unknown) =>
  sql<number | null>`(select epoch from endpoints where endpoints.id = ${endpoint_id} and type <> 'removed')`;
const endpointEpoch = epochOf(sql.ref("deliveries.endpoint_id"));
const hasEndpoint = sql<boolean>`${endpointEpoch} is not null`;
const isCurrent = sql<boolean>`epoch = ${endpointEpoch}`;
const pendingOf = (db: QueryBuilder, endpoint_id: string) =>
  db
    .selectFrom("deliveries")
    .where(isPending)
    .where("endpoint_id", "=", endpoint_id)
    .where("epoch", "=", epochOf(endpoint_id))
    .orderBy("next_attempt_at")
    .orderBy("id");
/** The limit of concurrent attempts. It is per endpoint, so that a slow one does not delay others. */
export const concurrency = 32;
/** How many deliveries one transaction deletes or recovers: more would block the event loop. */
export const removalBatch = 50;
export const recoveryBatch = 500;
/** Redeliveries have no limit, but only the last attempts of a delivery are kept. */
export const keptAttempts = 100;

export function deliveriesRepository(query: Queries) {
  return {
    insert: query.insert("deliveries"),
    list: query.pages({ table: "deliveries", within: ["endpoint_id", "organization_id"] }),
    oldestFirst: query.pages({
      table: "deliveries",
      within: ["endpoint_id", "organization_id"],
      order: "asc",
      columns: ["id"],
    }),
    find: query.find("deliveries", ["id", "endpoint_id", "organization_id"]),
    /** The attempts of consecutive deliveries of an endpoint, unordered. */
    attempts: query.all((db, p: OfEndpoint & { oldest: string; newest: string }) =>
      db
        .selectFrom("deliveries")
        .innerJoin("delivery_attempts", "delivery_attempts.delivery_id", "deliveries.id")
        .selectAll("delivery_attempts")
        .where("deliveries.endpoint_id", "=", p.endpoint_id)
        .where("deliveries.organization_id", "=", p.organization_id)
        .where("deliveries.id", ">=", p.oldest)
        .where("deliveries.id", "<=", p.newest),
    ),
    /** Idempotent, because a commit is retried if its answer was lost. */
    insertAttempt: query.insertOnce("delivery_attempts"),
    dropAttempts: query.change((db, p: { organization_id: string; delivery_id: string; upTo: number }) =>
      db
        .deleteFrom("delivery_attempts")
        .where(equal(p, "delivery_id", "organization_id"))
        .where("number", "<=", p.upTo),
    ),
    /** Counts a scheduled attempt, unless another attempt was counted since the row was read. */
    count: query.change((db, p: Key & Counters & { nextTries: number; nextRung: number }) =>
      db
        .updateTable("deliveries")
        .set({ tries: p.nextTries, rung: p.nextRung })
        .where(equal(p, "id", "organization_id", "tries", "rung"))
        .where(isPending)
        .where(isCurrent),
    ),
    succeed: query.change((db, p: Key) =>
      db
        .updateTable("deliveries")
        .set({ status: "succeeded", next_attempt_at: null })
        .where(equal(p, "id", "organization_id"))
        .where(hasEndpoint),
    ),
    /** Settles a failed attempt, unless another attempt was counted since. */
    fail: query.change((db, p: Key & Pick<Row<"deliveries">, "status" | "next_attempt_at" | "rung">) =>
      db
        .updateTable("deliveries")
        .set({ status: p.status, next_attempt_at: p.next_attempt_at })
        .where(equal(p, "id", "organization_id", "rung"))
        .where(isPending)
        .where(isCurrent),
    ),
    /** Keeps deliveries pending in the new epoch while their last attempt runs, because its result decides. */
    keepLastAttempts: query.change((db, p: OfEndpoint & { epoch: number }) =>
      db
        .updateTable("deliveries")
        .set({ epoch: p.epoch })
        .where(equal(p, "endpoint_id", "organization_id"))
        .where("rung", "=", sql.lit(maxAttempts))
        .where(isPending),
    ),
    recover: query.change(
      (db, p: OfEndpoint & { after: string; to: string; since: string; now: string; epoch: number }) =>
        db
          .updateTable("deliveries")
          .set({ status: "pending", next_attempt_at: p.now, rung: 0, epoch: p.epoch })
          .where(equal(p, "endpoint_id", "organization_id"))
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

    /** Selects by the time in the identifiers, which needs no extra index. */
    prune: query.change((db, p: { below: string }) => {
      const ended = db
        .selectFrom("deliveries")
        .where((row) => row.or([row("status", "!=", "pending"), row.not(isCurrent)]));
      const oldest = ended.select("id").where("id", "<", p.below).orderBy("id").limit(sql.lit(removalBatch));
      // A locked delivery is skipped: another transaction is recovering it.
      const old = db.with("old", () => query.unlocked(oldest));
      return old.deleteFrom("deliveries").where("id", "in", (eb) => eb.selectFrom("old").select("id"));
    }),

    /** The due deliveries of an endpoint, for its job, in any organization. Those in flight are among them. */
    due: query.all((db, p: { endpoint_id: string; now: string }) =>
      pendingOf(db, p.endpoint_id).selectAll().where("next_attempt_at", "<=", p.now).limit(sql.lit(concurrency)),
    ),
    next: query.first((db, p: { endpoint_id: string }) =>
      pendingOf(db, p.endpoint_id).select("next_attempt_at").where("next_attempt_at", "is not", null).limit(sql.lit(1)),
    ),
    pending: query.count((db, _: object) => pendingWithin(db)),
    pendingIn: query.count((db, p: Of) => pendingWithin(db).where("endpoints.organization_id", "=", p.organization_id)),
    succeededAfter: query.first((db, p: { endpoint_id: string; id: string }) =>
      db
        .selectFrom("deliveries")
        .select("id")
        .where("endpoint_id", "=", p.endpoint_id)
        .where("id", ">", p.id)
        .where("status", "=", "succeeded")
        .limit(sql.lit(1)),
    ),
    countRedelivery: query.first((db, p: { id: string }) =>
      db
        .updateTable("deliveries")
        .set((eb) => ({ tries: eb("tries", "+", 1) }))
        .where("id", "=", p.id)
        .returningAll(),
    ),
    forJob: query.first((db, p: { id: string }) =>
      db.selectFrom("deliveries").selectAll().where("id", "=", p.id).where(hasEndpoint),
    ),

    removeBatch: query.change((db, p: OfEndpoint) => {
      const its = db.selectFrom("deliveries").where(equal(p, "endpoint_id", "organization_id"));
      const newest = its.select("id").orderBy("id", "desc").limit(sql.lit(removalBatch));
      return db.deleteFrom("deliveries").where("id", "in", newest);
    }),
  };
}
