import type { Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

type Key = { organization_id: string; id: string };
type Family = Row<"endpoints">["family"];

export function endpointsRepository(query: Queries) {
  return {
    insert: query.insert("endpoints"),
    list: query.pages({ table: "endpoints", within: ["organization_id", "family"] }),
    find: query.first(
      (db, p: Key & { family: Family }) =>
        db
          .selectFrom("endpoints")
          .selectAll()
          .where("id", "=", p.id)
          .where("organization_id", "=", p.organization_id)
          .where("family", "=", p.family),
      "shared",
    ),
    count: query.count((db, p: { organization_id: string; family: Family }) =>
      db
        .selectFrom("endpoints")
        .select("id")
        .where("organization_id", "=", p.organization_id)
        .where("family", "=", p.family),
    ),
    ofOrganization: query.all(
      (db, p: { organization_id: string }) =>
        db
          .selectFrom("endpoints")
          .selectAll()
          .where("organization_id", "=", p.organization_id)
          .orderBy("family")
          .orderBy("id"),
      "shared",
    ),
    update: query.first((db, p: Key & Omit<Row<"endpoints">, "succeeded_at" | "created_at">) =>
      db
        .updateTable("endpoints")
        .set({ family: p.family, type: p.type, name: p.name, status: p.status })
        .set({ events: p.events, config: p.config, sealed: p.sealed, epoch: p.epoch })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .returningAll(),
    ),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("endpoints").where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
    succeeded: query.change((db, p: Key & { at: string }) =>
      db
        .updateTable("endpoints")
        .set({ succeeded_at: p.at })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .where((eb) => eb.or([eb("succeeded_at", "is", null), eb("succeeded_at", "<", p.at)])),
    ),
    /** For every organization, because a push to the connected app reaches them all. */
    ofType: query.all((db, p: { type: Row<"endpoints">["type"] }) =>
      db.selectFrom("endpoints").selectAll().where("type", "=", p.type).orderBy("id"),
    ),
    ofFamily: query.all(
      (db, p: { organization_id: string; family: Row<"endpoints">["family"] }) =>
        db
          .selectFrom("endpoints")
          .selectAll()
          .where("organization_id", "=", p.organization_id)
          .where("family", "=", p.family)
          .orderBy("id"),
      "shared",
    ),
    /** For every organization, because jobs work for them all. */
    forJob: query.first((db, p: { id: string }) => db.selectFrom("endpoints").selectAll().where("id", "=", p.id)),
  };
}
