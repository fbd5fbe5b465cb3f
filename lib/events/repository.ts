import { sql } from "kysely";
import type { Queries } from "../store/query.ts";

/** Events of one read of all organizations. */
export const eventsBatch = 500;

export function eventsRepository(query: Queries) {
  return {
    insert: query.insert("events"),
    /** No index has the name: a list of a rare one is scanned in batches. */
    list: query.pages({ table: "events", within: ["organization_id"], filters: ["event"], indexes: [[]] }),
    newest: query.first((db, _: object) =>
      db.selectFrom("events").select("id").orderBy("id", "desc").limit(sql.lit(1)),
    ),
    /** Of all organizations, for the streams of this process. */
    after: query.all((db, p: { id: string }) =>
      db.selectFrom("events").selectAll().where("id", ">", p.id).orderBy("id").limit(sql.lit(eventsBatch)),
    ),
    since: query.pages({ table: "events", within: ["organization_id"], order: "asc" }),
  };
}
