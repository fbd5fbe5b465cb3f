import { type RawBuilder, sql } from "kysely";
import type { QueryBuilder } from "../store/engine.ts";
import { equal, type Queries } from "../store/query.ts";

/** The jobs of one claim share a commit. More jobs would run faster, but delay requests. */
const claimSize = 100;
/** A job is a suspect if it was running at this many ends of its process in a row. Kills can do that to any job. */
export const suspectAfter = 3;
export const untried = { state: "waiting", attempt: 0, failures: 0, crashes: 0, strikes: 0 } as const;

/** Periodic jobs never end, so they do not count among the work that is left. */
const oneOff = sql<boolean>`kind not like 'service.%'`;
const earliest = (db: Pick<QueryBuilder, "selectFrom">, ...conditions: readonly RawBuilder<boolean>[]) =>
  conditions
    .reduce((jobs, condition) => jobs.where(condition), db.selectFrom("jobs"))
    .orderBy("run_at")
    .orderBy("id");

/** The jobs of all organizations. `waiting` and `running` are literals, because SQLite's partial indexes need them. */
export function jobsRepository(query: Queries) {
  const waiting = sql<boolean>`state = 'waiting'`;
  const running = sql<boolean>`state = 'running'`;
  /** Jobs with an expired lease. Skips locked rows, because those jobs are being settled. */
  const expired = (db: QueryBuilder, before: string) =>
    query.unlocked(db.selectFrom("jobs").select("id").where(running).where("lease_until", "<=", before));
  return {
    insert: query.insert("jobs"),
    insertOnce: query.pipelined((db, p: { id: string; kind: string; run_at: string }) =>
      db
        .insertInto("jobs")
        .values({ id: p.id, kind: p.kind, args: "{}", run_at: p.run_at, ...untried })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    /** Makes a waiting job due earlier. A running one checks for new work before it ends. */
    insertOrAdvance: query.pipelined((db, p: { id: string; kind: string; args: string; run_at: string }) =>
      db
        .insertInto("jobs")
        .values({ id: p.id, kind: p.kind, args: p.args, run_at: p.run_at, ...untried })
        .onConflict((conflict) =>
          conflict
            .column("id")
            .doUpdateSet((eb) => ({ run_at: eb.ref("excluded.run_at") }))
            .where("jobs.state", "=", "waiting")
            .whereRef("jobs.run_at", ">", "excluded.run_at"),
        ),
    ),
    next: query.first((db, _: object) => earliest(db, waiting).select("run_at").limit(sql.lit(1))),
    waiting: query.count((db, _: object) => db.selectFrom("jobs").select("id").where(waiting)),
    nextOneOff: query.first((db, _: object) => earliest(db, waiting, oneOff).select("run_at").limit(sql.lit(1))),
    upcoming: query.all((db, _: object) =>
      earliest(db, waiting, oneOff).select(["run_at", "kind", "args"]).limit(sql.lit(100)),
    ),
    /** Counts the attempt with the claim, so that a job that crashes its process cannot loop forever. */
    claim: query.all((db, p: Lease) => claimed(query, db, p, waiting)),
    /** Locks the row: until the job is settled, transactions that add this job wait. */
    lock: query.first((db, p: { id: string }) =>
      query.locked(db.selectFrom("jobs").select("id").where("id", "=", p.id)),
    ),
    ...ofRuntimes(query),
    /** The running jobs that are suspects or become suspects with one more crash. */
    suspected: query.all((db, p: { before: string }) =>
      query.unlocked(
        db
          .selectFrom("jobs")
          .select(["id", "attempt"])
          .where(running)
          .where("crashes", ">=", suspectAfter - 1)
          .where("lease_until", "<=", p.before),
      ),
    ),
    expired: query.first((db, p: { now: string }) =>
      db.selectFrom("jobs").select("id").where(running).where("lease_until", "<=", p.now).limit(sql.lit(1)),
    ),
    /** Gives back the running jobs of processes that have ended. */
    reclaim: query.change((db, p: { before: string }) =>
      db
        .updateTable("jobs")
        .set((eb) => ({
          state: "waiting" as const,
          crashes: eb("crashes", "+", 1),
          strikes: sql<number>`case when crashes >= ${sql.lit(suspectAfter)} then strikes + 1 else 0 end`,
        }))
        .where("id", "in", expired(db, p.before)),
    ),
    hold: query.pipelined((db, p: { id: string; run_at: string }) =>
      db.updateTable("jobs").set({ run_at: p.run_at }).where("id", "=", p.id),
    ),
    /** Clears the suspects that were waiting when the process ended: they did not end it. */
    resetWaiting: query.pipelined((db, _: object) =>
      // A literal, so that SQLite uses the index of suspects.
      db
        .updateTable("jobs")
        .set({ crashes: 0, strikes: 0 })
        .where(waiting)
        .where("crashes", ">=", sql.lit(suspectAfter)),
    ),
    /** Clears a running suspect whose process stays alive. */
    resetRunning: query.change((db, p: Attempt) =>
      db
        .updateTable("jobs")
        .set({ strikes: -1 })
        .where(equal(p, "id", "attempt"))
        .where(running),
    ),
    release: query.change((db, p: { owner: string }) =>
      db.updateTable("jobs").set({ state: "waiting" }).where(running).where("lease_owner", "=", p.owner),
    ),
    renew: query.change((db, p: Attempt & { until: string }) => {
      const held = db.selectFrom("jobs").select("id").where("id", "=", p.id).where("attempt", "=", p.attempt);
      return db
        .updateTable("jobs")
        .set({ lease_until: p.until })
        .where("id", "in", query.unlocked(held.where(running)));
    }),
    /** The attempt number is the fence: a process that lost its lease changes nothing. */
    remove: query.change((db, p: Attempt) =>
      db.deleteFrom("jobs").where("id", "=", p.id).where("attempt", "=", p.attempt).where(running),
    ),
    reschedule: query.change((db, p: Attempt & { run_at: string; failures: number; args: string }) =>
      db
        .updateTable("jobs")
        .set({ state: "waiting", run_at: p.run_at, failures: p.failures, args: p.args, crashes: 0, strikes: 0 })
        .where(equal(p, "id", "attempt"))
        .where(running),
    ),
  };
}

interface Attempt {
  readonly id: string;
  readonly attempt: number;
}

interface Lease {
  readonly now: string;
  readonly owner: string;
  readonly until: string;
}

const claimed = ({ unlocked }: Queries, db: QueryBuilder, p: Lease, claimable: RawBuilder<boolean>) =>
  db
    // A CTE: in the condition, PostgreSQL may evaluate the select for each row, and lock more rows than the limit.
    .with("due", (due) =>
      unlocked(earliest(due, claimable).select("id").where("run_at", "<=", p.now).limit(sql.lit(claimSize))),
    )
    .updateTable("jobs")
    .set((eb) => ({
      state: "running" as const,
      attempt: eb("attempt", "+", 1),
      lease_owner: p.owner,
      lease_until: p.until,
    }))
    .where("id", "in", (eb) => eb.selectFrom("due").select("id"))
    .returningAll();

/** For several processes on the same rows. The kind of a job for one runtime ends in `@` and the runtime's id. */
function ofRuntimes(query: Queries) {
  /** `own` matches the kinds that belong to this process's runtime. */
  const runnable = (own: string) => sql<boolean>`state = 'waiting' and (kind like ${own} or kind not like '%@%')`;
  return {
    nextOf: query.first((db, p: { own: string }) => earliest(db, runnable(p.own)).select("run_at").limit(sql.lit(1))),
    claimOf: query.all((db, p: Lease & { own: string }) => claimed(query, db, p, runnable(p.own))),
    find: query.find("jobs", ["id"]),
    endLeases: query.pipelined((db, p: { own: string; now: string }) =>
      db
        .updateTable("jobs")
        .set({ lease_until: p.now })
        .where(sql<boolean>`state = 'running'`)
        .where(sql<boolean>`kind like ${p.own}`),
    ),
    setKind: query.pipelined((db, p: { from: string; to: string }) =>
      db.updateTable("jobs").set({ kind: p.to }).where("kind", "=", p.from),
    ),
    removeOf: query.pipelined((db, p: { own: string }) =>
      db.deleteFrom("jobs").where(sql<boolean>`kind like ${p.own}`),
    ),
  };
}
