import { sql } from "kysely";
import type { Queries } from "../store/query.ts";

/** Received pushes, by the code host's delivery id. Its `id` begins with the integration, or for the connected app with `app` or an organization. */
export function pushesRepository(query: Queries) {
  return {
    insertOnce: query.change((db, p: { id: string; received_at: string }) =>
      db
        .insertInto("pushes")
        .values({ id: p.id, received_at: p.received_at })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    find: query.first((db, p: { id: string }) => db.selectFrom("pushes").select("id").where("id", "=", p.id)),
    prune: query.change((db, p: { before: string }) =>
      db
        .deleteFrom("pushes")
        .where("id", "in", (eb) =>
          eb.selectFrom("pushes").select("id").where("received_at", "<", p.before).limit(sql.lit(500)),
        ),
    ),
  };
}
