import { sql } from "kysely";
import type { Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

type Key = { organization_id: string; id: string };
/** The columns that sending and resending an invitation set. */
export type Renewal = Pick<
  Row<"invitations">,
  "token_hash" | "invited_at" | "expires_at" | "invited_by" | "invited_by_key_id" | "scopes"
>;
/** The newest mail of an invitation and its result. */
export type Mailed = Pick<Row<"invitations">, "mail_id" | "mail_status" | "mail_error">;

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
    /** Works without an organization, because an invitee has only a token. */
    withToken: query.first((db, p: { token_hash: string }) =>
      db.selectFrom("invitations").selectAll().where("token_hash", "=", p.token_hash),
    ),
    renew: query.first((db, p: Key & Renewal & Mailed) =>
      db
        .updateTable("invitations")
        .set({
          token_hash: p.token_hash,
          invited_at: p.invited_at,
          expires_at: p.expires_at,
          invited_by: p.invited_by,
          invited_by_key_id: p.invited_by_key_id,
          scopes: p.scopes,
          mail_id: p.mail_id,
          mail_status: p.mail_status,
          mail_error: p.mail_error,
        })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .returningAll(),
    ),
    /** Stores the result of the newest mail. */
    mailed: query.first((db, p: { organization_id: string } & Mailed) =>
      db
        .updateTable("invitations")
        .set({ mail_status: p.mail_status, mail_error: p.mail_error })
        .where(sql<boolean>`mail_id is not null`)
        .where("organization_id", "=", p.organization_id)
        .where("mail_id", "=", p.mail_id)
        .returning("id"),
    ),
    /** Expires the open invitations of an inviter now. */
    expireOf: query.all((db, p: { organization_id: string; invited_by: string; at: string }) =>
      db
        .updateTable("invitations")
        .set({ expires_at: p.at })
        .where(sql<boolean>`invited_by is not null`)
        .where("organization_id", "=", p.organization_id)
        .where("invited_by", "=", p.invited_by)
        .where("expires_at", ">", p.at)
        .returning(["id", "mail_id"]),
    ),
    /** The open invitations that were sent with a key. */
    openWithKeys: query.all((db, p: { organization_id: string; at: string }) =>
      db
        .selectFrom("invitations")
        .select(["id", "mail_id", "invited_by_key_id"])
        .where("organization_id", "=", p.organization_id)
        .where("expires_at", ">", p.at)
        .where("invited_by_key_id", "is not", null),
    ),
    expire: query.pipelined((db, p: Key & { at: string }) =>
      db
        .updateTable("invitations")
        .set({ expires_at: p.at })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id),
    ),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("invitations").where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
    prune: query.change((db, p: { before: string }) =>
      db
        .deleteFrom("invitations")
        .where("id", "in", (eb) =>
          eb.selectFrom("invitations").select("id").where("expires_at", "<", p.before).limit(sql.lit(500)),
        )
        // The invitation may have been resent meanwhile.
        .where("expires_at", "<", p.before),
    ),
  };
}
