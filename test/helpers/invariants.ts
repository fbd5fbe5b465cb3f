import type { Database } from "better-sqlite3";
import { violationsOf } from "../../lib/store/invariants.ts";

/** One line per violated rule of a database, with the first violating rows. */
export const violations = (database: Database): string[] =>
  violationsOf(database).map(
    ({ rule, count, examples }) => `${rule}: broken ${count} times, ${JSON.stringify(examples)}`,
  );

/** Unfinished work in a database that has had enough time to finish it. */
export function unfinished(database: Database): unknown[] {
  return [
    ...database.prepare("select id, status from deployments where status in ('queued', 'building', 'deploying')").all(),
    ...database.prepare("select * from jobs where kind not like 'service.%'").all(),
  ];
}
