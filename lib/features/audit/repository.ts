import { sql } from "kysely";
import type { Queries } from "../../store/query.ts";

export function auditRepository(query: Queries) {
  return {
    insert: query.insert("audit_log"),
    list: query.pages({
      table: "audit_log",
      within: ["organization_id"],
      filters: ["action", "user_id"],
      indexes: [[], ["action"], ["user_id"]],
    }),
    /** For pruning, which takes one organization at a time, because the index begins with the organization. */
    organizations: query.all((db, _: object) => db.selectFrom("organizations").select("id").orderBy("id")),
    prune: query.change((db, p: { organization_id: string; below: string }) => {
      const its = db.selectFrom("audit_log").select("id").where("organization_id", "=", p.organization_id);
      const old = its.where("id", "<", p.below).limit(sql.lit(500));
      return db.deleteFrom("audit_log").where("organization_id", "=", p.organization_id).where("id", "in", old);
    }),
  };
}
