import { sql } from "kysely";
import type { EnvironmentRange } from "../../kernel/page.ts";
import type { Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";
import { isOf, type Key } from "./repository.ts";

type Named = Key & { name: string };

export const keptRuns = 1_000;

/** The schedules of live releases, and their runs. Scoped by the project, as `appsRepository` is. */
export function schedulesRepository(query: Queries) {
  return {
    find: query.first((db, p: Named) =>
      db.selectFrom("schedules").selectAll().where(isOf(p)).where("name", "=", p.name),
    ),
    ofEnvironment: query.all((db, p: Key) => db.selectFrom("schedules").selectAll().where(isOf(p)).orderBy("name")),
    ofRange: query.all((db, p: EnvironmentRange) =>
      db
        .selectFrom("schedules")
        .selectAll()
        .where("project_id", "=", p.project_id)
        .where("environment", ">=", p.first)
        .where("environment", "<=", p.last)
        .orderBy("environment")
        .orderBy("name"),
    ),
    insert: query.insert("schedules"),
    remove: query.pipelined((db, p: Named) => db.deleteFrom("schedules").where(isOf(p)).where("name", "=", p.name)),
    removeAll: query.pipelined((db, p: Key) => db.deleteFrom("schedules").where(isOf(p))),
    removeOfProject: query.pipelined((db, p: { project_id: string }) =>
      db.deleteFrom("schedules").where("project_id", "=", p.project_id),
    ),
    setNext: query.pipelined((db, p: Named & { next_at: string }) =>
      db.updateTable("schedules").set({ next_at: p.next_at }).where(isOf(p)).where("name", "=", p.name),
    ),

    runs: query.pages({
      table: "schedule_runs",
      within: ["project_id", "environment", "organization_id"],
      key: "id",
      order: "desc",
    }),
    insertRun: query.insert("schedule_runs"),
    running: query.all((db, p: Key) =>
      db.selectFrom("schedule_runs").selectAll().where(isOf(p)).where(sql<boolean>`status = 'running'`),
    ),
    endRun: query.change((db, p: Pick<Row<"schedule_runs">, "id" | "status" | "ended_at" | "exit_code">) =>
      db
        .updateTable("schedule_runs")
        .set({ status: p.status, ended_at: p.ended_at, exit_code: p.exit_code })
        .where("id", "=", p.id)
        .where(sql<boolean>`status = 'running'`),
    ),
    pruneRuns: query.pipelined((db, p: Key) =>
      db
        .deleteFrom("schedule_runs")
        .where(isOf(p))
        .where("id", "<", (eb) =>
          eb
            .selectFrom("schedule_runs as kept")
            .select("kept.id")
            .where("kept.project_id", "=", p.project_id)
            .where("kept.environment", "=", p.environment)
            .orderBy("kept.id", "desc")
            .limit(sql.lit(1))
            .offset(sql.lit(keptRuns - 1)),
        ),
    ),
    removeRuns: query.pipelined((db, p: Key) => db.deleteFrom("schedule_runs").where(isOf(p))),
    removeRunsOfProject: query.pipelined((db, p: { project_id: string }) =>
      db.deleteFrom("schedule_runs").where("project_id", "=", p.project_id),
    ),
  };
}
