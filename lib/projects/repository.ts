import type { Queries } from "../store/query.ts";
import type { Row } from "../store/tables.ts";

type Key = { organization_id: string; id: string };
type Changes = Key & Pick<Row<"projects">, "name" | "name_folded" | "description" | "status" | "updated_at">;

export function projectsRepository(query: Queries) {
  return {
    insert: query.insert("projects"),
    list: query.pages({ table: "projects", within: ["organization_id"] }),
    find: query.first((db, p: Key) =>
      db.selectFrom("projects").selectAll().where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
    named: query.first((db, p: { organization_id: string; name_folded: string }) =>
      db
        .selectFrom("projects")
        .select("id")
        .where("organization_id", "=", p.organization_id)
        .where("name_folded", "=", p.name_folded),
    ),
    update: query.first((db, p: Changes) =>
      db
        .updateTable("projects")
        .set({
          name: p.name,
          name_folded: p.name_folded,
          description: p.description,
          status: p.status,
          updated_at: p.updated_at,
        })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .returningAll(),
    ),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("projects").where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
  };
}
