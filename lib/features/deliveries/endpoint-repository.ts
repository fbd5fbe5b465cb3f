import { equal, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

type Key = { organization_id: string; id: string };
type OfFamily = { organization_id: string; family: Row<"endpoints">["family"] };

export function endpointsRepository(query: Queries) {
  return {
    insert: query.insert("endpoints"),
    list: query.pages({ table: "endpoints", within: ["organization_id", "family"] }),
    find: query.find("endpoints", ["id", "organization_id", "family"], "shared"),
    count: query.count((db, p: OfFamily) =>
      db
        .selectFrom("endpoints")
        .select("id")
        .where(equal(p, "organization_id", "family")),
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
    update: query.update(
      "endpoints",
      ["id", "organization_id"],
      ["family", "type", "name", "status", "events", "config", "sealed", "epoch"],
    ),
    remove: query.change((db, p: Key) => db.deleteFrom("endpoints").where(equal(p, "id", "organization_id"))),
    succeeded: query.change((db, p: Key & { at: string }) =>
      db
        .updateTable("endpoints")
        .set({ succeeded_at: p.at })
        .where(equal(p, "id", "organization_id"))
        .where((eb) => eb.or([eb("succeeded_at", "is", null), eb("succeeded_at", "<", p.at)])),
    ),
    /** In all organizations, because a push to the connected app may concern any of them. */
    ofType: query.all((db, p: { type: Row<"endpoints">["type"] }) =>
      db.selectFrom("endpoints").selectAll().where("type", "=", p.type).orderBy("id"),
    ),
    /** In any organization: a job may name only the endpoint. */
    forJob: query.find("endpoints", ["id"]),
  };
}
