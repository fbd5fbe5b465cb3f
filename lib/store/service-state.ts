import { sql } from "kysely";
import type { Queries } from "./query.ts";

/**
 * Each table with an upper bound of its generated identifiers. Unique jobs have names in lower case, which sort after
 * every generated identifier; integrations and webhooks share a table.
 */
const upperBounds = [
  ["organizations", "~"],
  ["users", "~"],
  ["api_keys", "~"],
  ["invitations", "~"],
  ["projects", "~"],
  ["deployments", "~"],
  ["generations", "~"],
  ["events", "~"],
  ["mails", "~"],
  ["jobs", "job_a"],
  ["scenarios", "~"],
  ["endpoints", "int_~"],
  ["endpoints", "~"],
  ["deliveries", "~"],
] as const;

/**
 * The state of the service itself: the time of its clock, the fingerprint of the encryption key, the pid of its server.
 */
export function settingsRepository(query: Queries) {
  return {
    /** The newest identifier of each kind: a new process generates greater ones. */
    newest: upperBounds.map(([table, end]) =>
      query.first((db, _: object) =>
        db.selectFrom(table).select("id").where("id", "<", end).orderBy("id", "desc").limit(sql.lit(1)),
      ),
    ),
    read: query.first((db, p: { name: string }) =>
      db.selectFrom("settings").select("value").where("name", "=", p.name),
    ),
    write: query.change((db, p: { name: string; value: string }) =>
      db
        .insertInto("settings")
        .values({ name: p.name, value: p.value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet((eb) => ({ value: eb.ref("excluded.value") }))),
    ),
  };
}
