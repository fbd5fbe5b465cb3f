import { sql } from "kysely";
import type { QueryBuilder } from "../../store/engine.ts";
import { equal, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";
import { lifecycle, type MoveName } from "./states.ts";

type OfOrganization = { organization_id: string };
type Key = OfOrganization & { id: string };
const columns = {
  ...{ id: true, organization_id: true, model: true, kind: true, status: true, input: true, script: true },
  ...{ ready_at: true, step_at: true, created_at: true, completed_at: true, handle: true, progress: true },
  ...{ cost_micros: true, content_type: true, bytes: true, etag: true, error_code: true, error_message: true },
} satisfies Record<keyof Row<"generations">, true>;
const listed = Object.keys(columns) as (keyof typeof columns)[];
/** The columns that a move may set, and the key. */
const moved = [
  ...(["id", "organization_id", "cost_micros", "content_type", "bytes", "etag"] as const),
  ...(["error_code", "error_message"] as const),
] as const;
export type Movable = Pick<Row<"generations">, (typeof moved)[number]>;

/** A partial index is used only if the query repeats its condition word for word. */
const queued = sql<boolean>`status = 'queued'`;
/** Matches one index only. With old statistics, PostgreSQL would choose another and sort the whole queue. */
const inTurn = sql<boolean>`status || '' = 'queued'`;
const running = sql<boolean>`status = 'in_progress'`;
const unfinished = sql<boolean>`status in ('queued', 'in_progress')`;
const withFile = sql<boolean>`content_type is not null`;
/** A queued generation that may start. Leaves out the input, which may be long. */
const ready = (db: QueryBuilder, now: string, condition = queued) =>
  db.selectFrom("generations").select(moved).where(condition).where("ready_at", "<=", now).limit(sql.lit(1));
const noFile = { content_type: null, bytes: null, etag: null } as const;

export function generationsRepository(query: Queries) {
  /** One statement per move: of two concurrent moves from the same state, exactly one succeeds. */
  const move = (name: MoveName) =>
    query.first((db, p: Key & Movable & { at: string }) => {
      const { from, to } = lifecycle.moves[name];
      return db
        .updateTable("generations")
        .set({
          status: to,
          step_at: p.at,
          ...(to === "completed" || to === "failed" ? { completed_at: p.at } : {}),
          ...(to === "completed"
            ? { cost_micros: p.cost_micros, content_type: p.content_type, bytes: p.bytes, etag: p.etag }
            : {}),
          ...(to === "failed" ? { error_code: p.error_code, error_message: p.error_message } : {}),
        })
        .where(equal(p, "id", "organization_id"))
        .where("status", "in", from)
        .returningAll();
    });

  return {
    insert: query.insert("generations"),
    /** The input of a row is empty if it is long. */
    list: query.pages({ table: "generations", within: ["organization_id"], columns: listed, long: "input" }),
    find: query.find("generations", ["id", "organization_id"]),
    moves: Object.fromEntries(Object.keys(lifecycle.moves).map((name) => [name, move(name as MoveName)])) as Record<
      MoveName,
      ReturnType<typeof move>
    >,
    skipDelay: query.change((db, p: Key & { now: string }) =>
      db
        .updateTable("generations")
        .set({ ready_at: p.now })
        .where(equal(p, "id", "organization_id"))
        .where(queued),
    ),
    /** Stores the handle for polling the driver, as long as the generation is in progress. */
    setHandle: query.change((db, p: Key & Pick<Row<"generations">, "handle" | "progress">) =>
      db
        .updateTable("generations")
        .set({ handle: p.handle, progress: p.progress })
        .where(equal(p, "id", "organization_id"))
        .where("status", "=", "in_progress"),
    ),

    count: query.change((db, p: OfOrganization & Row<"generation_usage">) =>
      db
        .insertInto("generation_usage")
        .values({
          organization_id: p.organization_id,
          date: p.date,
          model: p.model,
          generations: p.generations,
          cost_micros: p.cost_micros,
        })
        .onConflict((conflict) =>
          conflict.columns(["organization_id", "date", "model"]).doUpdateSet((eb) => ({
            generations: eb("generation_usage.generations", "+", eb.ref("excluded.generations")),
            cost_micros: eb("generation_usage.cost_micros", "+", eb.ref("excluded.cost_micros")),
          })),
        ),
    ),
    usage: query.all((db, p: OfOrganization & { from: string; to: string }) =>
      db
        .selectFrom("generation_usage")
        .selectAll()
        .where("organization_id", "=", p.organization_id)
        .where("date", ">=", p.from)
        .where("date", "<=", p.to)
        .orderBy("date")
        .orderBy("model"),
    ),

    /** For the job loop and for signed links, which work across organizations. */
    byId: query.find("generations", ["id"]),
    /** In the order of the partial index: with any other order the planner reads the whole table. */
    running: query.all((db, _: object) =>
      db.selectFrom("generations").select("organization_id").where(running).orderBy("id"),
    ),
    /** A metric over all organizations. */
    countQueued: query.count((db, _: object) => db.selectFrom("generations").select("id").where(queued)),
    countUnfinished: query.count((db, p: OfOrganization & { status: string }) =>
      db
        .selectFrom("generations")
        .select("id")
        .where(unfinished)
        .where("organization_id", "=", p.organization_id)
        .where(sql<boolean>`status = ${p.status}`),
    ),
    oldestReady: query.first((db, p: { now: string }) => ready(db, p.now).orderBy("ready_at").orderBy("id")),
    /** The oldest ready generation of the first organization after this one. Reads all that are not ready before it. */
    nextReady: query.first((db, p: { after: string; now: string }) =>
      ready(db, p.now, inTurn)
        .where("organization_id", ">", p.after)
        .orderBy("organization_id")
        .orderBy("ready_at")
        .orderBy("id"),
    ),
    expiredFiles: query.all((db, p: { before: string }) =>
      db
        .selectFrom("generations")
        .select("id")
        .where(withFile)
        .where("completed_at", "<", p.before)
        .orderBy("completed_at")
        .limit(sql.lit(256)),
    ),
    clearFile: query.change((db, p: { id: string }) =>
      db.updateTable("generations").set(noFile).where("id", "=", p.id),
    ),
  };
}
