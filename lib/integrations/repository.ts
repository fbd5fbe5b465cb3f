import { sql } from "kysely";
import type { Queries } from "../store/query.ts";

/** Received pushes, by the code host's delivery id. Its `id` begins with the integration or `app`. */
export function pushesRepository(query: Queries) {
  return {
    insertOnce: query.change((db, p: { id: string; received_at: string }) =>
      db
        .insertInto("pushes")
        .values({ id: p.id, received_at: p.received_at })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    prune: query.change((db, p: { before: string }) =>
      db
        .deleteFrom("pushes")
        .where("id", "in", (eb) =>
          eb.selectFrom("pushes").select("id").where("received_at", "<", p.before).limit(sql.lit(500)),
        ),
    ),
  };
}
