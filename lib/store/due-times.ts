import { sql } from "kysely";
import { isoOf, latestInstant } from "../kernel/clock.ts";
import type { Queries } from "./query.ts";

/**
 * The instants that work waits for or is measured from, and the rows that hold them. They move when the clock is set.
 * All other instants record the past, or were promised to people: expiries of keys, invitations, links. A test lists
 * those.
 */
export const dueTimes = [
  // Also of running jobs: a job that is given back is due at the same instant again.
  ["jobs", "run_at", sql<boolean>`true`],
  ["jobs", "lease_until", sql<boolean>`state = 'running'`],
  ["deployments", "ready_at", sql<boolean>`status = 'queued'`],
  ["deployments", "step_at", sql<boolean>`status in ('building', 'deploying')`],
  ["generations", "ready_at", sql<boolean>`status = 'queued'`],
  ["generations", "step_at", sql<boolean>`status = 'in_progress'`],
  ["deliveries", "next_attempt_at", sql<boolean>`status = 'pending'`],
  ["idempotency_keys", "created_at", sql<boolean>`true`],
  ["schedules", "next_at", sql<boolean>`true`],
  ["pushes", "received_at", sql<boolean>`true`],
] as const;

export function dueTimesRepository(query: Queries) {
  return {
    /** One query for each of `dueTimes`. `by` is in seconds, signed. Rows that wait for no time hold the latest instant. */
    shifts: dueTimes.map(([table, column, rows]) =>
      query.change((db, p: { by: string }) =>
        db
          .updateTable(table)
          .set({ [column]: query.later(column, p.by) })
          .where(rows)
          .where(sql<boolean>`${sql.ref(column)} < ${isoOf(latestInstant)}`),
      ),
    ),
  };
}
