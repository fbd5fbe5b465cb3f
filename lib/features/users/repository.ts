import { sql } from "kysely";
import type { Role } from "../../kernel/roles.ts";
import type { Queries } from "../../store/query.ts";

type Key = { organization_id: string; id: string };

export function usersRepository(query: Queries) {
  return {
    insert: query.insert("users"),
    list: query.pages({
      table: "users",
      within: ["organization_id", "status"],
    }),
    find: query.first((db, p: Key) =>
      db.selectFrom("users").selectAll().where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
    withEmail: query.first((db, p: { organization_id: string; email_folded: string }) =>
      db
        .selectFrom("users")
        .selectAll()
        .where("organization_id", "=", p.organization_id)
        .where("email_folded", "=", p.email_folded),
    ),
    /** The first active user with a role. */
    firstWithRole: query.first((db, p: { organization_id: string; role: Role }) =>
      db
        .selectFrom("users")
        .selectAll()
        .where("organization_id", "=", p.organization_id)
        .where("status", "=", "active")
        .where("role", "=", p.role)
        .orderBy("id")
        .limit(sql.lit(1)),
    ),
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
    update: query.first((db, p: Key & { role: Role; status: "active" | "suspended" }) =>
      db
        .updateTable("users")
        .set({ role: p.role, status: p.status })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .returningAll(),
    ),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("users").where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
  };
}
