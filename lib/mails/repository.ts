import { sql } from "kysely";
import type { Queries } from "../store/query.ts";

export function mailsRepository(query: Queries) {
  return {
    insert: query.insert("mails"),
    /** Of every organization, for the operator: the control interface and the command line. */
    all: query.all((db, _: object) => db.selectFrom("mails").selectAll().orderBy("id")),
    prune: query.change((db, p: { before: string }) =>
      db
        .deleteFrom("mails")
        .where("id", "in", (eb) =>
          eb.selectFrom("mails").select("id").where("sent_at", "<", p.before).limit(sql.lit(500)),
        ),
    ),
  };
}
