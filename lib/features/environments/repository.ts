import { sql } from "kysely";
import { equal, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

type Key = { project_id: string; name: string };

/** The number of environments that one transaction removes. Each may have 1 MiB of variables. */
export const batch = 50;

/** Queries by project. The service first checks that the project belongs to the organization. */
export function environmentsRepository(query: Queries) {
  return {
    insert: query.insert("environments"),
    list: query.pages({ table: "environments", within: ["project_id"], key: "name", order: "asc" }),
    find: query.find("environments", ["project_id", "name"], "shared"),
    put: query.change((db, p: Row<"environments">) =>
      db
        .insertInto("environments")
        .values({ project_id: p.project_id, name: p.name, variables: p.variables, protect: p.protect, root: p.root })
        .onConflict((conflict) =>
          conflict.columns(["project_id", "name"]).doUpdateSet((eb) => ({
            variables: eb.ref("excluded.variables"),
            protect: eb.ref("excluded.protect"),
            root: eb.ref("excluded.root"),
          })),
        ),
    ),
    remove: query.change((db, p: Key) => db.deleteFrom("environments").where(equal(p, "project_id", "name"))),
    removeBatch: query.change((db, p: { project_id: string }) => {
      const its = db.selectFrom("environments").select("name").where("project_id", "=", p.project_id);
      const first = its.orderBy("name").limit(sql.lit(batch));
      return db.deleteFrom("environments").where("project_id", "=", p.project_id).where("name", "in", first);
    }),
  };
}
