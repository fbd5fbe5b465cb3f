import { sql } from "kysely";
import type { Role } from "../../kernel/roles.ts";
import { equal, type Queries } from "../../store/query.ts";

type Key = { organization_id: string; id: string };

export function usersRepository(query: Queries) {
  return {
    insert: query.insert("users"),
    list: query.pages({ table: "users", within: ["organization_id", "status"] }),
    find: query.find("users", ["id", "organization_id"]),
    withEmail: query.find("users", ["organization_id", "email_folded"]),
    /** The active owners and admins, the longest-serving first. */
    managers: query.all((db, p: { organization_id: string }) =>
      db
        .selectFrom("users")
        .selectAll()
        .where("organization_id", "=", p.organization_id)
        .where("status", "=", "active")
        .where("role", "in", ["owner", "admin"])
        .orderBy("id")
        .limit(sql.lit(20)),
    ),
    firstWithRole: query.first((db, p: { organization_id: string; role: Role }) =>
      db
        .selectFrom("users")
        .selectAll()
        .where(equal(p, "organization_id", "role"))
        .where("status", "=", "active")
        .orderBy("id")
        .limit(sql.lit(1)),
    ),
    anotherOwner: query.first((db, p: Key) =>
      db
        .selectFrom("users")
        .select("id")
        .where("organization_id", "=", p.organization_id)
        .where("status", "=", "active")
        .where("role", "=", "owner")
        .where("id", "!=", p.id)
        .limit(sql.lit(1)),
    ),
    update: query.update("users", ["id", "organization_id"], ["role", "status"]),
    remove: query.change((db, p: Key) => db.deleteFrom("users").where(equal(p, "id", "organization_id"))),
  };
}
