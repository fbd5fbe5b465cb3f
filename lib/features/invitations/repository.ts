import { sql } from "kysely";
import { equal, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

type Key = { organization_id: string; id: string };
/** The columns that are set when an invitation is sent or resent. */
const renewed = ["token_hash", "invited_at", "expires_at", "invited_by", "invited_by_key_id", "scopes"] as const;
export type Renewal = Pick<Row<"invitations">, (typeof renewed)[number]>;
/** The newest mail of an invitation and its result. */
const mailed = ["mail_id", "mail_status", "mail_error"] as const;
type Mailed = Pick<Row<"invitations">, (typeof mailed)[number]>;

export function invitationsRepository(query: Queries) {
  return {
    insert: query.insert("invitations"),
    list: query.pages({ table: "invitations", within: ["organization_id"] }),
    find: query.find("invitations", ["id", "organization_id"]),
    toEmail: query.find("invitations", ["organization_id", "email_folded"]),
    /** Works without an organization, because an invitee has only a token. */
    withToken: query.find("invitations", ["token_hash"]),
    renew: query.update("invitations", ["id", "organization_id"], [...renewed, ...mailed]),
    mailed: query.first((db, p: { organization_id: string } & Mailed) =>
      db
        .updateTable("invitations")
        .set({ mail_status: p.mail_status, mail_error: p.mail_error })
        .where(sql<boolean>`mail_id is not null`)
        .where(equal(p, "organization_id", "mail_id"))
        .returning("id"),
    ),
    expireOf: query.all((db, p: { organization_id: string; invited_by: string; at: string }) =>
      db
        .updateTable("invitations")
        .set({ expires_at: p.at })
        .where(sql<boolean>`invited_by is not null`)
        .where(equal(p, "organization_id", "invited_by"))
        .where("expires_at", ">", p.at)
        .returning(["id", "mail_id"]),
    ),
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
        .where(equal(p, "id", "organization_id")),
    ),
    remove: query.change((db, p: Key) => db.deleteFrom("invitations").where(equal(p, "id", "organization_id"))),
    prune: query.change((db, p: { before: string }) => {
      const old = db.selectFrom("invitations").select("id").where("expires_at", "<", p.before).limit(sql.lit(500));
      // Compared again: an invitation may have been resent since it was selected.
      return db.deleteFrom("invitations").where("id", "in", old).where("expires_at", "<", p.before);
    }),
  };
}
