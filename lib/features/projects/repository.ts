import { sql } from "kysely";
import { equal, notEarlier, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

type Key = { organization_id: string; id: string };
type Changes = Key & Pick<Row<"projects">, "name" | "name_folded" | "description" | "status" | "updated_at">;

/** Deleted projects whose rows are still being removed. They are not shown. */
const removedProjects = sql`select project_id from removals`;
const notRemoved = sql<boolean>`id not in (${removedProjects})`;

export function projectsRepository(query: Queries) {
  return {
    insert: query.insert("projects"),
    list: query.pages({
      table: "projects",
      within: ["organization_id"],
      exclude: { column: "id", in: removedProjects },
    }),
    find: query.first(
      (db, p: Key) =>
        db
          .selectFrom("projects")
          .selectAll()
          .where(equal(p, "id", "organization_id"))
          .where(notRemoved),
      "shared",
    ),
    findId: query.first(
      (db, p: Key) =>
        db
          .selectFrom("projects")
          .select("id")
          .where(equal(p, "id", "organization_id"))
          .where(notRemoved),
      "shared",
    ),
    newestTwo: query.all((db, p: { organization_id: string }) =>
      db
        .selectFrom("projects")
        .selectAll()
        .where("organization_id", "=", p.organization_id)
        .where(notRemoved)
        .orderBy("id", "desc")
        .limit(sql.lit(2)),
    ),
    findByName: query.find("projects", ["organization_id", "name_folded"]),
    update: query.first((db, p: Changes) =>
      db
        .updateTable("projects")
        .set({
          name: p.name,
          name_folded: p.name_folded,
          description: p.description,
          status: p.status,
          updated_at: notEarlier("updated_at", p.updated_at),
        })
        .where(equal(p, "id", "organization_id"))
        .returningAll(),
    ),
    hide: query.insert("removals"),
    /** Frees the name of a project. Its new name begins with a space, which no valid name does. */
    freeName: query.change((db, p: Key) =>
      db
        .updateTable("projects")
        .set({ name_folded: sql<string>`' ' || ${sql.ref("id")}` })
        .where(equal(p, "id", "organization_id")),
    ),
    remove: query.change((db, p: Key) => db.deleteFrom("projects").where(equal(p, "id", "organization_id"))),
  };
}
