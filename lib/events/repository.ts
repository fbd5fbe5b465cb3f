import type { Queries } from "../store/query.ts";

export function eventsRepository(query: Queries) {
  return {
    insert: query.insert("events"),
    list: query.pages({ table: "events", within: ["organization_id"] }),
    since: query.pages({ table: "events", within: ["organization_id"], order: "asc" }),
  };
}
