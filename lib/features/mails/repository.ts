import { sql } from "kysely";
import { equal, type Queries } from "../../store/query.ts";
import type { MailStatus } from "../../store/tables.ts";

type Key = { organization_id: string; id: string };

export function mailsRepository(query: Queries) {
  return {
    insert: query.insert("mails"),
    find: query.find("mails", ["id", "organization_id"]),
    /** Across all organizations, for the operator: used by the control interface and the command line. */
    all: query.all((db, _: object) => db.selectFrom("mails").selectAll().orderBy("id")),
    /** Stores the result of an attempt. Does nothing if the mail is no longer pending. */
    settle: query.change((db, p: Key & { status: MailStatus; attempts: string }) =>
      db
        .updateTable("mails")
        .set({ status: p.status, attempts: p.attempts })
        .where(equal(p, "id", "organization_id"))
        .where("status", "=", "pending"),
    ),
    /** For the tester, across all organizations. Pending ones stay: they have a job. */
    clear: query.change((db, _: object) => db.deleteFrom("mails").where("status", "<>", "pending")),
    prune: query.change((db, p: { before: string }) => {
      const old = db.selectFrom("mails").select("id").where("sent_at", "<", p.before).limit(sql.lit(500));
      return db.deleteFrom("mails").where("id", "in", old);
    }),
  };
}
