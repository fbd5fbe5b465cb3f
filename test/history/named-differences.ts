import type { Row, Table } from "../../lib/store/copy-tables.ts";

/**
 * Turns are given out by jobs. SQLite has one for all organizations; PostgreSQL has one for each, which waits for no other.
 * So the clock's `ran`, which counts jobs, may be larger there.
 */
const turns: readonly unknown[] = ["deployments.turns", "generations.turn"];

/** An answer to a move of the clock, without the number of jobs and what depends on its length. */
export const withoutRan = (answer: string): string =>
  answer.replace(/"ran":\d+/, '"ran":"…"').replace(/\["content-length","\d+"\]/, '["content-length","…"]');

/** The columns that differ between two engines, with the reason of each. Any other difference is a fault. */
const columns: readonly string[] = [
  // Drawn by each process for itself, so that no two of them share leases.
  "jobs.lease_owner",
  // A hash with a salt of its own. Answers show whether a password is set.
  "environments.protect",
];

/** The rows that differ, with the reason of each. `now` is the time at the end. */
const rows: Readonly<Record<string, (row: Row, now: number) => boolean>> = {
  // The process that has a file open. It tells a second server.
  settings: ({ name }) => name === "server_pid",
  jobs: ({ kind }) => turns.includes(kind),
  // SQLite stores counts once a second of the machine's time, and a manual clock may have ended the window by then.
  rate_windows: ({ started_at }, now) => Number(started_at) + 600_000 <= now,
};

/** A line for a row, or none for one that differs. */
export function lineOf({ name, columns: all }: Table, row: Row, now: number): string[] {
  if (rows[name]?.(row, now)) return [];
  const shown = all.filter((column) => !columns.includes(`${name}.${column}`));
  return [`${name} ${JSON.stringify(Object.fromEntries(shown.map((column) => [column, row[column]])))}`];
}
