import { sql } from "kysely";
import type { Queries } from "../store/query.ts";

/** The rows of the HTTP interface: rate-limit windows by bucket, and answers by API key, path and idempotency key. */
export function httpRepository(query: Queries) {
  return {
    window: query.first((db, p: { bucket: string }) =>
      db.selectFrom("rate_windows").selectAll().where("bucket", "=", p.bucket),
    ),
    saveWindow: query.change((db, p: { bucket: string; started_at: number; requests: number }) =>
      db
        .insertInto("rate_windows")
        .values({ bucket: p.bucket, started_at: p.started_at, requests: p.requests })
        .onConflict((conflict) =>
          conflict.column("bucket").doUpdateSet((eb) => ({
            started_at: eb.ref("excluded.started_at"),
            requests: eb.ref("excluded.requests"),
          })),
        ),
    ),
    /** Adds requests to the count of all processes, in one statement. Undefined if the limit has no room for them. */
    count: query.first((db, p: { bucket: string; started_at: number; requests: number; most: number }) => {
      // At the end of a window, processes may disagree about which window is current. The later one wins.
      const isNew = sql<boolean>`rate_windows.started_at < excluded.started_at`;
      return db
        .insertInto("rate_windows")
        .values({ bucket: p.bucket, started_at: p.started_at, requests: p.requests })
        .onConflict((conflict) =>
          conflict
            .column("bucket")
            .doUpdateSet({
              started_at: sql`case when ${isNew} then excluded.started_at else rate_windows.started_at end`,
              requests: sql`case when ${isNew} then excluded.requests else rate_windows.requests + excluded.requests end`,
            })
            .where((eb) => eb.or([isNew, eb("rate_windows.requests", "<=", p.most)])),
        )
        .returning("requests");
    }),
    giveBack: query.change((db, p: { bucket: string; started_at: number; requests: number }) =>
      db
        .updateTable("rate_windows")
        .set((eb) => ({ requests: eb("requests", "-", p.requests) }))
        .where("bucket", "=", p.bucket)
        .where("started_at", "=", p.started_at),
    ),
    pruneWindows: query.change((db, p: { before: number }) =>
      db
        .deleteFrom("rate_windows")
        .where("bucket", "in", (eb) =>
          eb.selectFrom("rate_windows").select("bucket").where("started_at", "<", p.before).limit(sql.lit(500)),
        )
        // Another process may just have started the next window.
        .where("started_at", "<", p.before),
    ),

    answer: query.first((db, p: { api_key_id: string; path: string; name: string }) =>
      db
        .selectFrom("idempotency_keys")
        .selectAll()
        .where("api_key_id", "=", p.api_key_id)
        .where("path", "=", p.path)
        .where("name", "=", p.name),
    ),
    removeAnswer: query.pipelined((db, p: { api_key_id: string; path: string; name: string; before: string }) =>
      db
        .deleteFrom("idempotency_keys")
        .where("api_key_id", "=", p.api_key_id)
        .where("path", "=", p.path)
        .where("name", "=", p.name)
        .where("created_at", "<=", p.before),
    ),
    insertAnswer: query.insertUnique("idempotency_keys"),
    pruneAnswers: query.change((db, p: { before: string }) =>
      db.deleteFrom("idempotency_keys").where(
        (eb) => eb.refTuple("api_key_id", "path", "name"),
        "in",
        (eb) =>
          eb
            .selectFrom("idempotency_keys")
            .select(["api_key_id", "path", "name"])
            .where("created_at", "<", p.before)
            .limit(sql.lit(250))
            .$asTuple("api_key_id", "path", "name"),
      ),
    ),
  };
}
