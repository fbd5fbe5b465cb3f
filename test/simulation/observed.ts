import type { Database } from "better-sqlite3";
import { ended, machines, moved, movesOf } from "./coverage.ts";

/** Two moves between the same states; another column tells them apart. */
const told: Readonly<Record<string, string>> = {
  "generations: fail from in_progress": "new.error_code <> 'cancelled'",
  "generations: cancel from in_progress": "new.error_code = 'cancelled'",
};

/** Database triggers that record each move of a row and each run of a periodic job. */
export function watchRows(database: Database): void {
  database.exec("create table if not exists reached (what text primary key) without rowid");
  const watch = (what: string, of: string, when: string) =>
    database.exec(
      `create trigger if not exists "${what}" after update of ${of} when ${when}
       begin insert or ignore into reached values ('${what}'); end`,
    );
  for (const table of Object.keys(machines))
    for (const { name, from, to } of movesOf(table)) {
      const what = moved(table, name, from);
      const is = `old.status = '${from}' and new.status = '${to}'`;
      watch(what, `status on ${table}`, told[what] ? `${is} and ${told[what]}` : is);
    }
  watch(ended("service.prune", "snooze"), "run_at on jobs", "new.kind = 'service.prune' and new.run_at > old.run_at");
}

/** The records of the triggers. */
export const reachedRows = (database: Database): string[] =>
  database.prepare("select what from reached").pluck().all() as string[];
