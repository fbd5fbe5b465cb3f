import type { Queries } from "../store/query.ts";

export function eventsRepository(query: Queries) {
  return {
    insert: query.insert("events"),
    /** No index has the name: a list of a rare one is scanned in batches. */
    list: query.pages({ table: "events", within: ["organization_id"], filters: ["event"], indexes: [[]] }),
    since: query.pages({ table: "events", within: ["organization_id"], order: "asc" }),
  };
}
