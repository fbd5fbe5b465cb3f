import type { Queries } from "./query.ts";

/** What the service remembers about itself: the clock's reading, the vault's fingerprint, the server's pid. */
export function settingsRepository(query: Queries) {
  return {
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
