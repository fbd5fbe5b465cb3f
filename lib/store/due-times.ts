import { sql } from "kysely";
import { isoOf, latestInstant } from "../kernel/clock.ts";
import type { Queries } from "./query.ts";

/**
 * The instants that something waits for or is measured from, and which rows hold one. Where the clock is set, they move
 * with it. All other instants say when something happened, or were told to people: expiries of keys, invitations, links;
 * a test lists them.
 */
export const dueTimes = [
  // Of running jobs too: one that is given back is due at the same instant again.
  ["jobs", "run_at", sql<boolean>`true`],
  ["jobs", "lease_until", sql<boolean>`state = 'running'`],
  ["deployments", "ready_at", sql<boolean>`status = 'queued'`],
  ["deployments", "step_at", sql<boolean>`status in ('building', 'deploying')`],
  ["generations", "ready_at", sql<boolean>`status = 'queued'`],
  ["generations", "step_at", sql<boolean>`status = 'in_progress'`],
  ["deliveries", "next_attempt_at", sql<boolean>`status = 'pending'`],
  ["idempotency_keys", "created_at", sql<boolean>`true`],
  ["pushes", "received_at", sql<boolean>`true`],
] as const;

export function dueTimesRepository(query: Queries) {
  return {
    /** One query for each of `dueTimes`. `by` is in seconds, signed. What waits for no time holds the latest instant. */
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
