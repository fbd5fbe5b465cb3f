import type { Queries } from "../store/query.ts";
import type { Row } from "../store/tables.ts";

type Key = { project_id: string; name: string };

/** Scoped by the project, which was found in its organization before. */
export function environmentsRepository(query: Queries) {
  return {
    insert: query.insert("environments"),
    /** "Made on first use." */
    ensure: query.change((db, p: Key) =>
      db
        .insertInto("environments")
        .values({ project_id: p.project_id, name: p.name, variables: "{}" })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    list: query.pages({ table: "environments", within: ["project_id"], key: "name", order: "asc" }),
    find: query.first((db, p: Key) =>
      db.selectFrom("environments").selectAll().where("project_id", "=", p.project_id).where("name", "=", p.name),
    ),
    put: query.change((db, p: Row<"environments">) =>
      db
        .insertInto("environments")
        .values({ project_id: p.project_id, name: p.name, variables: p.variables })
        .onConflict((conflict) =>
          conflict.columns(["project_id", "name"]).doUpdateSet((eb) => ({ variables: eb.ref("excluded.variables") })),
        ),
    ),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("environments").where("project_id", "=", p.project_id).where("name", "=", p.name),
    ),
  };
}
