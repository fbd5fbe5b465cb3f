import { sql } from "kysely";
import type { EnvironmentRange } from "../../kernel/page.ts";
import { equal, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

export type Key = { project_id: string; environment: string };
type OfProject = { project_id: string };

export const isOf = (p: Key) => equal(p, "project_id", "environment");

/** The number of rows that one transaction removes: a few milliseconds of work. */
export const batch = 500;

/**
 * Queries are scoped by project, which the service first looks up in its organization. The proxy serves every
 * organization.
 */
export function appsRepository(query: Queries) {
  return {
    insert: query.insert("apps"),
    find: query.first((db, p: Key) => db.selectFrom("apps").selectAll().where(isOf(p))),
    ofSlug: query.first((db, p: { slug: string }) => db.selectFrom("apps").selectAll().where("slug", "=", p.slug)),
    ofProject: query.all((db, p: OfProject) =>
      db.selectFrom("apps").selectAll().where("project_id", "=", p.project_id),
    ),
    ofRange: query.all((db, p: EnvironmentRange) =>
      db
        .selectFrom("apps")
        .selectAll()
        .where("project_id", "=", p.project_id)
        .where("environment", ">=", p.first)
        .where("environment", "<=", p.last),
    ),
    live: query.all((db, _: object) =>
      db
        .selectFrom("apps")
        .selectAll()
        .where(sql<boolean>`deployment_id is not null`)
        .orderBy("project_id")
        .orderBy("environment"),
    ),
    protectOf: query.first(
      (db, p: Key) =>
        db
          .selectFrom("environments")
          .select("protect")
          .where("project_id", "=", p.project_id)
          .where("name", "=", p.environment),
      "shared",
    ),
    /** The environments without a host. */
    withoutApp: query.all((db, _: object) =>
      db
        .selectFrom("environments")
        .innerJoin("projects", "projects.id", "environments.project_id")
        .leftJoin("apps", (join) =>
          join
            .onRef("apps.project_id", "=", "environments.project_id")
            .onRef("apps.environment", "=", "environments.name"),
        )
        .select(["projects.organization_id", "environments.project_id", "environments.name as environment"])
        .where(sql<boolean>`apps.slug is null`),
    ),
    setDataBytes: query.change((db, p: Key & { data_bytes: number }) =>
      db.updateTable("apps").set({ data_bytes: p.data_bytes }).where(isOf(p)),
    ),
    setLive: query.change((db, p: Key & { deployment_id: string; workers: string; at: string | null }) =>
      db
        .updateTable("apps")
        .set({ deployment_id: p.deployment_id, workers: p.workers })
        .set({ restarts: 0, restarts_since: p.at, hour_restarts: 0, hour_since: null })
        .where(isOf(p)),
    ),
    setRestarts: query.change(
      (db, p: Key & Pick<Row<"apps">, "restarts" | "restarts_since" | "hour_restarts" | "hour_since" | "mailed_at">) =>
        db
          .updateTable("apps")
          .set({ restarts: p.restarts, restarts_since: p.restarts_since })
          .set({ hour_restarts: p.hour_restarts, hour_since: p.hour_since, mailed_at: p.mailed_at })
          .where(isOf(p)),
    ),
    ...onRuntimes(query),
    remove: query.change((db, p: Key) => db.deleteFrom("apps").where(isOf(p))),
    removeOfProject: query.change((db, p: OfProject) => db.deleteFrom("apps").where("project_id", "=", p.project_id)),

    logs: query.pages({
      table: "app_logs",
      within: ["project_id", "environment", "organization_id"],
      key: "seq",
      order: "asc",
    }),
    lastLog: query.first((db, p: Key) =>
      db.selectFrom("app_logs").select("timestamp").where(isOf(p)).orderBy("seq", "desc"),
    ),
    insertLog: query.insert("app_logs"),
    setLogEntries: query.change((db, p: Key & { log_entries: number }) =>
      db.updateTable("apps").set({ log_entries: p.log_entries }).where(isOf(p)),
    ),
    pruneLog: query.change((db, p: Key & { before: number }) =>
      db.deleteFrom("app_logs").where(isOf(p)).where("seq", "<", p.before),
    ),
    removeLogBatch: query.change((db, p: OfProject) =>
      db.deleteFrom("app_logs").where(
        (eb) => eb.refTuple("project_id", "environment", "seq"),
        "in",
        (eb) =>
          eb
            .selectFrom("app_logs")
            .select(["project_id", "environment", "seq"])
            .where("project_id", "=", p.project_id)
            .limit(sql.lit(batch))
            .$asTuple("project_id", "environment", "seq"),
      ),
    ),
  };
}

type Of = { runtime_id: string };

/** For several servers on one database: each environment runs on one of their runtimes. */
function onRuntimes(query: Queries) {
  return {
    setRuntime: query.change((db, p: Key & Of) =>
      db.updateTable("apps").set({ runtime_id: p.runtime_id }).where(isOf(p)),
    ),
    /** Live apps without a runtime: a single server ran them, or their runtime was forgotten. */
    adopt: query.change((db, p: Of) =>
      db
        .updateTable("apps")
        .set({ runtime_id: p.runtime_id })
        .where(sql<boolean>`deployment_id is not null`)
        .where(sql<boolean>`runtime_id is null`),
    ),
    moveApps: query.change((db, p: { from: string; to: string | null }) =>
      db.updateTable("apps").set({ runtime_id: p.to }).where("runtime_id", "=", p.from),
    ),
    liveOn: query.all((db, p: Of) =>
      db
        .selectFrom("apps")
        .leftJoin("environments", (join) =>
          join
            .onRef("environments.project_id", "=", "apps.project_id")
            .onRef("environments.name", "=", "apps.environment"),
        )
        .selectAll("apps")
        .select("environments.protect")
        .where(sql<boolean>`apps.deployment_id is not null`)
        .where("apps.runtime_id", "=", p.runtime_id)
        .orderBy("apps.project_id")
        .orderBy("apps.environment"),
    ),
    domainsOn: query.all((db, p: Of) =>
      db
        .selectFrom("app_domains")
        .innerJoin("apps", (join) =>
          join
            .onRef("apps.project_id", "=", "app_domains.project_id")
            .onRef("apps.environment", "=", "app_domains.environment"),
        )
        .select(["app_domains.name", "apps.project_id", "apps.environment"])
        .where("apps.runtime_id", "=", p.runtime_id)
        .where("app_domains.status", "=", "active"),
    ),
  };
}

export function runtimesRepository(query: Queries) {
  return {
    all: query.all((db, _: object) => db.selectFrom("runtimes").selectAll().orderBy("id")),
    find: query.first((db, p: { id: string }) => db.selectFrom("runtimes").selectAll().where("id", "=", p.id)),
    insert: query.insert("runtimes"),
    renew: query.change((db, p: { id: string; until: string }) =>
      db.updateTable("runtimes").set({ lease_until: p.until }).where("id", "=", p.id),
    ),
    remove: query.change((db, p: { id: string }) => db.deleteFrom("runtimes").where("id", "=", p.id)),
  };
}
