import { sql } from "kysely";
import type { Queries } from "../../store/query.ts";
import type { MailStatus } from "../../store/tables.ts";

type Key = { organization_id: string; id: string };

export function mailsRepository(query: Queries) {
  return {
    insert: query.insert("mails"),
    find: query.first((db, p: Key) =>
      db.selectFrom("mails").selectAll().where("id", "=", p.id).where("organization_id", "=", p.organization_id),
    ),
    /** Across all organizations, for the operator: used by the control interface and the command line. */
    all: query.all((db, _: object) => db.selectFrom("mails").selectAll().orderBy("id")),
    /** Stores the result of an attempt. Does nothing if the mail is no longer pending. */
    settle: query.change((db, p: Key & { status: MailStatus; attempts: string }) =>
      db
        .updateTable("mails")
        .set({ status: p.status, attempts: p.attempts })
        .where("id", "=", p.id)
        .where("organization_id", "=", p.organization_id)
        .where("status", "=", "pending"),
    ),
    /** For the tester, across all organizations. Pending ones stay: they have a job. */
    clear: query.change((db, _: object) => db.deleteFrom("mails").where("status", "<>", "pending")),
    prune: query.change((db, p: { before: string }) =>
      db
        .deleteFrom("mails")
        .where("id", "in", (eb) =>
          eb.selectFrom("mails").select("id").where("sent_at", "<", p.before).limit(sql.lit(500)),
        ),
    ),
  };
}
