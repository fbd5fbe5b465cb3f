import { sql } from "kysely";
import type { Queries } from "../store/query.ts";

/**
 * How many jobs are claimed at once: a batch shares one commit. More of them would be little faster, and hold up for longer
 * what arrives while they run.
 */
const batch = 100;
/** A job that took its process down this often runs alone, so that none beside it is blamed for the next time. */
export const suspect = 2;

/**
 * The queue's rows. These serve the job loop, which works for every organization.
 *
 * `waiting` and `running` are literals here, because a partial index is used only where its condition stands in the text.
 */
export function jobsRepository(query: Queries) {
  const waiting = sql<boolean>`state = 'waiting'`;
  const running = sql<boolean>`state = 'running'`;
  const claim = (most: number, crashes: "<" | ">=") =>
    query.all((db, p: { now: string; owner: string; until: string }) =>
      db
        .updateTable("jobs")
        .set((eb) => ({
          state: "running" as const,
          attempt: eb("attempt", "+", 1),
          lease_owner: p.owner,
          lease_until: p.until,
        }))
        .where("id", "in", (eb) =>
          eb
            .selectFrom("jobs")
            .select("id")
            .where(waiting)
            .where("run_at", "<=", p.now)
            .where("crashes", crashes, suspect)
            .orderBy("run_at")
            .orderBy("id")
            .limit(sql.lit(most)),
        )
        .returningAll(),
    );

  return {
    insert: query.insert("jobs"),
    /** Adds a periodic job where it is not there yet. */
    insertOnce: query.change((db, p: { id: string; kind: string; run_at: string }) =>
      db
        .insertInto("jobs")
        .values({
          id: p.id,
          kind: p.kind,
          args: "{}",
          state: "waiting",
          run_at: p.run_at,
          attempt: 0,
          failures: 0,
          crashes: 0,
        })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    /** A job that runs looks again by itself before it ends: only a waiting one is called earlier. */
    insertOrAdvance: query.change((db, p: { id: string; kind: string; args: string; run_at: string }) =>
      db
        .insertInto("jobs")
        .values({
          id: p.id,
          kind: p.kind,
          args: p.args,
          state: "waiting",
          run_at: p.run_at,
          attempt: 0,
          failures: 0,
          crashes: 0,
        })
        .onConflict((conflict) =>
          conflict
            .column("id")
            .doUpdateSet((eb) => ({ run_at: eb.ref("excluded.run_at") }))
            .where("jobs.state", "=", "waiting")
            .whereRef("jobs.run_at", ">", "excluded.run_at"),
        ),
    ),
    next: query.first((db, _: object) =>
      db
        .selectFrom("jobs")
        .select(["run_at", "crashes"])
        .where(waiting)
        .orderBy("run_at")
        .orderBy("id")
        .limit(sql.lit(1)),
    ),
    waiting: query.count((db, _: object) => db.selectFrom("jobs").select("id").where(waiting)),
    /** The next that is not periodic: those never end, so waiting for the last one would take for ever. */
    nextOneOff: query.first((db, _: object) =>
      db
        .selectFrom("jobs")
        .select("run_at")
        .where(waiting)
        .where(sql<boolean>`kind not like 'service.%'`)
        .orderBy("run_at")
        .orderBy("id")
        .limit(sql.lit(1)),
    ),
    /** Counts the attempt while claiming, so that a job that takes its process down cannot loop for ever. */
    claim: claim(batch, "<"),
    claimSuspect: claim(1, ">="),
    /** Takes back what an earlier process left: on one process, all of it. */
    reclaim: query.change((db, _: object) =>
      db
        .updateTable("jobs")
        .set((eb) => ({
          state: "waiting" as const,
          crashes: eb("crashes", "+", 1),
        }))
        .where(running),
    ),
    release: query.change((db, p: { owner: string }) =>
      db.updateTable("jobs").set({ state: "waiting" }).where(running).where("lease_owner", "=", p.owner),
    ),
    /** Takes back leases that ran out. */
    rescue: query.change((db, p: { now: string }) =>
      db
        .updateTable("jobs")
        .set((eb) => ({
          state: "waiting" as const,
          crashes: eb("crashes", "+", 1),
        }))
        .where(running)
        .where("lease_until", "<=", p.now),
    ),
    renew: query.change((db, p: { id: string; attempt: number; until: string }) =>
      db
        .updateTable("jobs")
        .set({ lease_until: p.until })
        .where("id", "=", p.id)
        .where("attempt", "=", p.attempt)
        .where(running),
    ),
    /** The attempt is the fence: a process that lost its lease changes nothing. */
    remove: query.change((db, p: { id: string; attempt: number }) =>
      db.deleteFrom("jobs").where("id", "=", p.id).where("attempt", "=", p.attempt).where(running),
    ),
    reschedule: query.change(
      (
        db,
        p: {
          id: string;
          attempt: number;
          run_at: string;
          failures: number;
          args: string;
        },
      ) =>
        db
          .updateTable("jobs")
          .set({
            state: "waiting",
            run_at: p.run_at,
            failures: p.failures,
            args: p.args,
            crashes: 0,
          })
          .where("id", "=", p.id)
          .where("attempt", "=", p.attempt)
          .where(running),
    ),
  };
}
