import { sql } from "kysely";
import type { Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

/** Not scoped to an organization: start-up and sign-in use these queries to find one. */
export function organizationsRepository(query: Queries) {
  return {
    insert: query.insert("organizations"),
    any: query.first((db, _: object) => db.selectFrom("organizations").select("id").orderBy("id").limit(sql.lit(1))),
    another: query.first((db, p: { organization_id: string }) =>
      db.selectFrom("organizations").select("id").where("id", "!=", p.organization_id).orderBy("id").limit(sql.lit(1)),
    ),
    all: query.all((db, _: object) => db.selectFrom("organizations").selectAll().orderBy("id").limit(sql.lit(1000))),
    find: query.first((db, p: { organization_id: string }) =>
      db.selectFrom("organizations").selectAll().where("id", "=", p.organization_id),
    ),
    update: query.first(
      (db, p: { organization_id: string } & Pick<Row<"organizations">, "name" | "name_folded" | "plan">) =>
        db
          .updateTable("organizations")
          .set({ name: p.name, name_folded: p.name_folded, plan: p.plan })
          .where("id", "=", p.organization_id)
          .returningAll(),
    ),
    findByName: query.first((db, p: { name_folded: string }) =>
      db.selectFrom("organizations").selectAll().where("name_folded", "=", p.name_folded),
    ),
  };
}
