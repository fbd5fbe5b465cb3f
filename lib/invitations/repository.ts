import { sql } from "kysely";
import type { Queries } from "../store/query.ts";

type Key = { organization_id: string; id: string };

export function invitationsRepository(query: Queries) {
  return {
    insert: query.insert("invitations"),
    list: query.pages({ table: "invitations", within: ["organization_id"] }),
    find: query.first((db, p: Key) =>
      db.selectFrom("invitations").selectAll().where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
    toEmail: query.first((db, p: { organization_id: string; email_folded: string }) =>
      db
        .selectFrom("invitations")
        .selectAll()
        .where("organization_id", "=", p.organization_id)
        .where("email_folded", "=", p.email_folded),
    ),
    /** Without an organization: an invitee has a token alone. */
    withToken: query.first((db, p: { token_hash: string }) =>
      db.selectFrom("invitations").selectAll().where("token_hash", "=", p.token_hash),
    ),
    renew: query.first((db, p: Key & { token_hash: string; invited_at: string; expires_at: string }) =>
      db
        .updateTable("invitations")
        .set({
          token_hash: p.token_hash,
          invited_at: p.invited_at,
          expires_at: p.expires_at,
        })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .returningAll(),
    ),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("invitations").where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
    prune: query.change((db, p: { before: string }) =>
      db
        .deleteFrom("invitations")
        .where("id", "in", (eb) =>
          eb.selectFrom("invitations").select("id").where("expires_at", "<", p.before).limit(sql.lit(500)),
        ),
    ),
  };
}
