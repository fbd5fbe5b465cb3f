import type { Database } from "better-sqlite3";
import { violationsOf } from "../../lib/store/invariants.ts";

/** One line for each broken rule of a database, with the first rows that break it. */
export const violations = (database: Database): string[] =>
  violationsOf(database).map(
    ({ rule, count, examples }) => `${rule}: broken ${count} times, ${JSON.stringify(examples)}`,
  );

/** The work that is left in a database which has had all the time that it needs. */
export function unfinished(database: Database): unknown[] {
  return [
    ...database.prepare("select id, status from deployments where status in ('queued', 'building', 'deploying')").all(),
    ...database.prepare("select * from jobs where kind not like 'service.%'").all(),
  ];
}
