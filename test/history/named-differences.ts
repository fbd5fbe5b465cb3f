import type { Row, Table } from "../../lib/store/transfer/copy-tables.ts";

/**
 * Jobs that hand out turns. SQLite has one for all organizations; PostgreSQL has one per organization, and they do not
 * wait for each other. So the clock's `ran`, a count of jobs, may be larger there.
 */
const turns: readonly unknown[] = ["deployments.turns", "generations.turn"];

/** The answer to a clock call, without the number of jobs and the length that depends on it. */
export const withoutRan = (answer: string): string =>
  answer.replace(/"ran":\d+/, '"ran":"…"').replace(/\["content-length","\d+"\]/, '["content-length","…"]');

/** The columns that differ between two engines, each with its reason. Any other difference is a fault. */
const columns: readonly string[] = [
  // Random per process, so that no two share leases.
  "jobs.lease_owner",
  // A hash with its own salt. Answers show whether a password is set.
  "environments.protect",
];

/** The rows that differ, each with its reason. `now` is the time at the end. */
const rows: Readonly<Record<string, (row: Row, now: number) => boolean>> = {
  // The process that holds the file, for the error of a second server.
  settings: ({ name }) => name === "server_pid",
  jobs: ({ kind }) => turns.includes(kind),
  // SQLite stores counts once per second of real time; by then, a manual clock may have ended the window.
  rate_windows: ({ started_at }, now) => Number(started_at) + 600_000 <= now,
};

/** The line for a row; none for a row that differs by `rows`. */
export function lineOf({ name, columns: all }: Table, row: Row, now: number): string[] {
  if (rows[name]?.(row, now)) return [];
  const shown = all.filter((column) => !columns.includes(`${name}.${column}`));
  return [`${name} ${JSON.stringify(Object.fromEntries(shown.map((column) => [column, row[column]])))}`];
}
