import { sql } from "kysely";
import { isoOf, latestInstant } from "../kernel/clock.ts";
import type { Queries } from "./query.ts";

/**
 * Work waits for these instants, or is measured from them. They shift when the clock is set. Other instants do not:
 * they record the past, or callers rely on them (expiry of keys, invitations, links). A test lists those.
 */
export const dueTimes = [
  // All jobs, also running ones: a job that is released is due at its old instant again.
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
    /** One query for each of `dueTimes`; `by` is signed seconds. Rows at the latest instant have no due time. */
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
