import { sql } from "kysely";
import { isoOf, latestInstant } from "../../kernel/clock.ts";
import type { QueryBuilder } from "../../store/engine.ts";
import { equal, notEarlier, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";
import { deploymentItem } from "./schema.ts";
import { lifecycle, type MoveName } from "./states.ts";

type Key = { organization_id: string; id: string };
type EnvironmentKey = { project_id: string; environment: string };
type MoveParameters = Key & { at: string } & Pick<Row<"deployments">, "version" | "pin" | "release">;

/** The planner uses a partial index only if the query contains its condition word for word. */
const running = sql<boolean>`status in ('building', 'deploying')`;
const queued = sql<boolean>`status = 'queued'`;
/** `lined_up` is 1 for the head of a queue, 2 once its delay has passed, and 0 behind another deployment. */
const waitingHead = sql<boolean>`${queued} and lined_up = 1`;
/** A queue head that a tester steps never becomes ready by itself. */
const timedHead = sql<boolean>`${waitingHead} and ready_at < ${isoOf(latestInstant)}`;
const readyHead = sql<boolean>`${queued} and lined_up = 2`;
/** The value of `lined_up` for a release that was live in an environment when that was deleted. */
export const liveNoMore = 3;
const active = sql<boolean>`status = 'active'`;
const released = sql<boolean>`${active} and release is not null`;
/** Deleted projects whose rows are still being removed: their deployments are neither shown nor run. */
const removedProjects = sql`select project_id from removals`;
const notRemoved = sql<boolean>`project_id not in (${removedProjects})`;
const ofId = (db: QueryBuilder, p: { id: string }) =>
  db.selectFrom("deployments").where("id", "=", p.id).where(notRemoved);
const change = (db: QueryBuilder, p: Key) => db.updateTable("deployments").where(equal(p, "id", "organization_id"));
/** Sorted as the partial index is: in any other order the planner reads the whole table. */
const allRunning = (db: QueryBuilder) =>
  db.selectFrom("deployments").where(running).where(notRemoved).orderBy("project_id").orderBy("environment");
const timedHeads = (db: QueryBuilder) =>
  db.selectFrom("deployments").where(timedHead).orderBy("ready_at").limit(sql.lit(1));
const inEnvironment = (db: QueryBuilder, p: EnvironmentKey) =>
  db.selectFrom("deployments").where(equal(p, "project_id", "environment"));
const newestFirst = (db: QueryBuilder, p: EnvironmentKey & { organization_id: string }) =>
  inEnvironment(db, p).where("organization_id", "=", p.organization_id).orderBy("id", "desc").limit(sql.lit(1));
/** The number of rows that one transaction removes: a few milliseconds of work. */
export const deploymentBatch = 50;
export const logBatch = 500;
/** How many releases of an environment are read: more than any environment keeps. */
const releasesRead = 2_000;

/** The columns of a list: without the source, which would be most of a page, and `url`, which is not stored. */
const { url: _, ...columns } = deploymentItem.entries;
const listed = Object.keys(columns) as (keyof typeof columns)[];
/** The columns for a GET and for scenarios. */
const shown = [...listed, "source", "script"] as const;

/** Filters by environment and status use the index of the environment, which is more selective than the status. */
const indexes = [
  [],
  ["environment"],
  ["status"],
  ["project_id"],
  ["project_id", "environment"],
  ["project_id", "status"],
] as const;

const newestBatch = (db: QueryBuilder, { project_id }: { project_id: string }) => {
  const newest = db.selectFrom("deployments").select("id").where("project_id", "=", project_id).orderBy("id", "desc");
  return newest.limit(sql.lit(deploymentBatch));
};

const removals = (query: Queries) => ({
  /** Removes a batch of a project's newest deployments, after their logs; returns their number. */
  removeBatch: query.change((db, p: { project_id: string }) =>
    db.deleteFrom("deployments").where("id", "in", newestBatch(db, p)),
  ),
  /** Removes a batch of log entries of the deployments that `removeBatch` removes next; returns their number. */
  removeLogBatch: query.change((db, p: { project_id: string }) =>
    db.deleteFrom("deployment_logs").where(
      (eb) => eb.refTuple("deployment_id", "seq"),
      "in",
      (eb) =>
        eb
          .selectFrom("deployment_logs")
          .select(["deployment_id", "seq"])
          .where("deployment_id", "in", newestBatch(db, p))
          .limit(sql.lit(logBatch))
          .$asTuple("deployment_id", "seq"),
    ),
  ),
});

const ofEnvironment = (query: Queries) => ({
  /** A deployment that a new one would have to wait for. */
  unfinished: query.first((db, p: EnvironmentKey) =>
    inEnvironment(db, p)
      .select("id")
      .where(queued)
      .unionAll(inEnvironment(db, p).select("id").where(running))
      .limit(sql.lit(1)),
  ),
  newest: query.first((db, p: EnvironmentKey & { organization_id: string }) => newestFirst(db, p).select("created_at")),
  newestOf: query.first((db, p: EnvironmentKey & { organization_id: string; commit: string }) =>
    newestFirst(db, p)
      .selectAll()
      .where((eb) => eb.or([eb("revision", "=", p.commit), eb("version", "=", p.commit), eb("pin", "=", p.commit)])),
  ),
});

export function deploymentsRepository(query: Queries) {
  /** One statement per move: of two concurrent moves from one state, exactly one finds the row in that state. */
  const move = (name: MoveName) =>
    query.first((db, p: MoveParameters) => {
      const { from, to } = lifecycle.moves[name];
      const isEnd = lifecycle.terminal.some((state) => state === to);
      const at = notEarlier("updated_at", p.at);
      const set = { status: to, updated_at: at, step_at: p.at, version: p.version, pin: p.pin, release: p.release };
      return change(db, p)
        .set({ ...set, ...(isEnd && { completed_at: at }), ...(to === "active" && { deployed_at: at }) })
        .where("status", "in", from)
        .where(notRemoved)
        .returningAll();
    });

  return {
    insert: query.insert("deployments"),
    list: query.pages({
      table: "deployments",
      within: ["organization_id"],
      filters: ["project_id", "environment", "status"],
      indexes,
      columns: listed,
      optional: ["deployed_at", "created_by"],
      json: ["created_by"],
      exclude: { column: "project_id", in: removedProjects },
    }),
    shown: query.first((db, p: Key) => ofId(db, p).select(shown).where("organization_id", "=", p.organization_id)),
    find: query.first((db, p: Key) => ofId(db, p).selectAll().where("organization_id", "=", p.organization_id)),
    moves: Object.fromEntries(Object.keys(lifecycle.moves).map((name) => [name, move(name as MoveName)])) as Record<
      MoveName,
      ReturnType<typeof move>
    >,
    setLogSize: query.pipelined((db, p: Key & { log_entries: number; log_bytes: number }) =>
      change(db, p).set({ log_entries: p.log_entries, log_bytes: p.log_bytes }),
    ),
    setPin: query.pipelined((db, p: Key & { pin: string }) => change(db, p).set({ pin: p.pin })),
    skipDelay: query.pipelined((db, p: Key & { now: string }) => change(db, p).set({ ready_at: p.now }).where(queued)),
    /** The project that a repository was last deployed to. Takes one step per project, also for a large one. */
    lastOfRepo: query.first((_, p: { organization_id: string; repo: string }) => {
      const its = sql`from deployments where organization_id = ${p.organization_id} and repo = ${p.repo}`;
      return sql<{ project_id: string }>`
        with recursive found (project_id) as (
          select min(project_id) ${its}
          union all
          select (select min(project_id) ${its} and project_id > found.project_id) from found where project_id is not null
        )
        select project_id from found where project_id is not null and ${notRemoved}
        order by (select max(id) ${its} and project_id = found.project_id) desc limit 1`;
    }),
    /** The newest release of an environment that is older than a deployment. */
    releaseBefore: query.first((db, p: EnvironmentKey & Key) =>
      inEnvironment(db, p)
        .selectAll()
        .where("organization_id", "=", p.organization_id)
        .where(active)
        .where("id", "<", p.id)
        .orderBy("id", "desc")
        .limit(sql.lit(1)),
    ),
    /** Marks the live release of a deleted environment, which is the newest. */
    endLive: query.change((db, p: EnvironmentKey & { organization_id: string }) =>
      db
        .updateTable("deployments")
        .set({ lined_up: liveNoMore })
        .where("organization_id", "=", p.organization_id)
        .where("id", "in", newestFirst(db, p).select("id").where(active)),
    ),
    /** The stored releases of an environment, newest first. A release that a rollback brought back occurs twice. */
    releases: query.all((db, p: EnvironmentKey) =>
      inEnvironment(db, p).select("release").where(released).orderBy("id", "desc").limit(sql.lit(releasesRead)),
    ),

    /** For the job loop, which works for every organization. */
    byId: query.first((db, p: { id: string }) => ofId(db, p).selectAll()),
    running: query.all((db, _: object) => allRunning(db).select(["status", "organization_id"])),
    /** A metric over all organizations. Deployments of deleted projects count until they are removed. */
    countQueued: query.count((db, _: object) => db.selectFrom("deployments").select("id").where(queued)),
    head: query.first((db, p: EnvironmentKey) =>
      inEnvironment(db, p)
        .select(["id", "organization_id", "ready_at", "script", "lined_up"])
        .where(queued)
        .orderBy("id")
        .limit(sql.lit(1)),
    ),
    runningIn: query.first((db, p: EnvironmentKey) => inEnvironment(db, p).select("id").where(running)),
    markHead: query.pipelined((db, p: Key) => change(db, p).set({ lined_up: 1 })),
    markReady: query.pipelined((db, p: { now: string }) => {
      const heads = db.selectFrom("deployments").select("id").where(waitingHead).where("ready_at", "<=", p.now);
      // Skips locked heads: the transaction with the lock starts the ready heads itself before it commits.
      return db.updateTable("deployments").set({ lined_up: 2 }).where("id", "in", query.unlocked(heads));
    }),
    nextReadyAt: query.first((db, _: object) => timedHeads(db).select(["organization_id", "ready_at"])),
    nextReadyAtOf: query.first((db, p: { organization_id: string }) =>
      // `|| ''` keeps the planner off the organization's index, which holds its whole queue.
      timedHeads(db).select("ready_at").where(sql<boolean>`organization_id || '' = ${p.organization_id}`),
    ),
    /** The oldest ready head of the first organization after `after`. */
    nextReadyHead: query.first((db, p: { after: string }) =>
      db
        .selectFrom("deployments")
        .selectAll()
        .where(readyHead)
        .where("organization_id", ">", p.after)
        .where(notRemoved)
        .orderBy("organization_id")
        .orderBy("id")
        .limit(sql.lit(1)),
    ),

    ...ofEnvironment(query),
    ...removals(query),

    insertLog: query.insert("deployment_logs"),
    logs: query.pages({
      table: "deployment_logs",
      within: ["deployment_id", "organization_id"],
      key: "seq",
      order: "asc",
    }),
  };
}
