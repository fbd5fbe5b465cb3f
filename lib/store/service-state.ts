import { sql } from "kysely";
import type { Queries } from "./query.ts";

/**
 * Where identifiers of one kind end, by table. Jobs of one record have names of their own, in small letters, behind every
 * identifier; integrations and webhooks share a table.
 */
const dated = [
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

/** What the service remembers about itself: the clock's reading, the fingerprint of the encryption key, the server's pid. */
export function settingsRepository(query: Queries) {
  return {
    /** The newest identifier of each kind, so that a new process goes on from there. */
    newest: dated.map(([table, end]) =>
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
