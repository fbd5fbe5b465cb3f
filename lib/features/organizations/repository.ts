import { sql } from "kysely";
import type { Queries } from "../../store/query.ts";

/** Not scoped to an organization: start-up and sign-in use these queries to find one. */
export function organizationsRepository(query: Queries) {
  return {
    insert: query.insert("organizations"),
    any: query.first((db, _: object) => db.selectFrom("organizations").select("id").orderBy("id").limit(sql.lit(1))),
    another: query.first((db, p: { organization_id: string }) =>
      db.selectFrom("organizations").select("id").where("id", "!=", p.organization_id).orderBy("id").limit(sql.lit(1)),
    ),
    all: query.all((db, _: object) => db.selectFrom("organizations").selectAll().orderBy("id").limit(sql.lit(1000))),
    find: query.find("organizations", ["id"]),
    findByName: query.find("organizations", ["name_folded"]),
    update: query.update("organizations", ["id"], ["name", "name_folded", "plan"]),
  };
}
