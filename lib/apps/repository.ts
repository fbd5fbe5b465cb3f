import { type RawBuilder, sql } from "kysely";
import type { QueryBuilder } from "../store/engine.ts";
import type { Queries } from "../store/query.ts";
import type { Row } from "../store/tables.ts";

type Key = { project_id: string; environment: string };
type OfProject = { project_id: string };

const domainOfOther = (db: QueryBuilder, p: Key & { organization_id: string; name: string }) =>
  db
    .selectFrom("app_domains")
    .select("name")
    .where("name", "=", p.name)
    .where((is) => is.or([is("status", "=", "active"), is("organization_id", "=", p.organization_id)]))
    .where((is) => is.or([is("project_id", "<>", p.project_id), is("environment", "<>", p.environment)]));

/** How many rows one transaction removes: some milliseconds of work. */
export const batch = 500;

/** Scoped by the project, which the service finds in its organization first; the proxy serves every organization. */
export function appsRepository(query: Queries) {
  return {
    insert: query.insert("apps"),
    find: query.first((db, p: Key) =>
      db.selectFrom("apps").selectAll().where("project_id", "=", p.project_id).where("environment", "=", p.environment),
    ),
    withSlug: query.first((db, p: { slug: string }) => db.selectFrom("apps").select("slug").where("slug", "=", p.slug)),
    ofProject: query.all((db, p: OfProject) =>
      db.selectFrom("apps").selectAll().where("project_id", "=", p.project_id),
    ),
    live: query.all((db, _: object) =>
      db
        .selectFrom("apps")
        .selectAll()
        .where(sql<boolean>`deployment_id is not null`)
        .orderBy("project_id")
        .orderBy("environment"),
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
    setLive: query.change((db, p: Key & { deployment_id: string }) =>
      db
        .updateTable("apps")
        .set({ deployment_id: p.deployment_id })
        .where("project_id", "=", p.project_id)
        .where("environment", "=", p.environment),
    ),
    ...onRuntimes(query),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("apps").where("project_id", "=", p.project_id).where("environment", "=", p.environment),
    ),
    removeOfProject: query.change((db, p: OfProject) => db.deleteFrom("apps").where("project_id", "=", p.project_id)),

    ...domains(query),

    logs: query.pages({
      table: "app_logs",
      within: ["project_id", "environment", "organization_id"],
      key: "seq",
      order: "asc",
    }),
    lastLog: query.first((db, p: Key) =>
      db
        .selectFrom("app_logs")
        .select("timestamp")
        .where("project_id", "=", p.project_id)
        .where("environment", "=", p.environment)
        .orderBy("seq", "desc"),
    ),
    insertLog: query.insert("app_logs"),
    setLogEntries: query.change((db, p: Key & { log_entries: number }) =>
      db
        .updateTable("apps")
        .set({ log_entries: p.log_entries })
        .where("project_id", "=", p.project_id)
        .where("environment", "=", p.environment),
    ),
    /** Removes the oldest entries, before a number. */
    pruneLog: query.change((db, p: Key & { before: number }) =>
      db
        .deleteFrom("app_logs")
        .where("project_id", "=", p.project_id)
        .where("environment", "=", p.environment)
        .where("seq", "<", p.before),
    ),
    /** Removes a batch of a project's entries; answers how many. */
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

type Named = Key & { name: string };
const active = sql<boolean>`status = 'active'`;

const hostsOf = (where: RawBuilder<unknown>) =>
  sql`select name as host, organization_id from app_domains where ${where} and status = 'active'
    union all select slug, organization_id from apps where ${where}`;

/** The own host names of environments, and the hosts that organizations gave up. */
function domains(query: Queries) {
  const ofApp = (db: QueryBuilder, p: Key) =>
    db.selectFrom("app_domains").where("project_id", "=", p.project_id).where("environment", "=", p.environment);
  const change = (db: QueryBuilder, p: Named) =>
    db
      .updateTable("app_domains")
      .where("project_id", "=", p.project_id)
      .where("environment", "=", p.environment)
      .where("name", "=", p.name);
  /** All hosts of a project, or of one environment, are given up. */
  const giveUp = (hosts: RawBuilder<unknown>, p: { until: string }) =>
    sql`insert into given_up_hosts (name, organization_id, until)
      select host, organization_id, cast(${p.until} as text) from (${hosts}) as hosts where true
      on conflict (name) do update set organization_id = excluded.organization_id, until = excluded.until`;
  return {
    insertDomain: query.insert("app_domains"),
    /** The environment that a domain serves. */
    activeDomain: query.first((db, p: { name: string }) =>
      db.selectFrom("app_domains").selectAll().where("name", "=", p.name).where(active),
    ),
    /** The environment that has a domain already: it serves that one, or waits for it in the same organization. */
    domainOfOther: query.first(domainOfOther),
    domainsOf: query.all((db, p: Key) => ofApp(db, p).selectAll().orderBy("name")),
    domainsOfProject: query.all((db, p: OfProject) =>
      db
        .selectFrom("app_domains")
        .selectAll()
        .where("project_id", "=", p.project_id)
        .orderBy("environment")
        .orderBy("name"),
    ),
    setDomainStatus: query.change((db, p: Named & Pick<Row<"app_domains">, "status" | "reason">) =>
      change(db, p).set({ status: p.status, reason: p.reason }),
    ),
    setDomainReason: query.write((db, p: Named & { reason: string }) => change(db, p).set({ reason: p.reason })),
    removeDomain: query.write((db, p: Named) =>
      db
        .deleteFrom("app_domains")
        .where("project_id", "=", p.project_id)
        .where("environment", "=", p.environment)
        .where("name", "=", p.name),
    ),
    removeDomains: query.change((db, p: Key) =>
      db.deleteFrom("app_domains").where("project_id", "=", p.project_id).where("environment", "=", p.environment),
    ),
    removeDomainsOfProject: query.change((db, p: OfProject) =>
      db.deleteFrom("app_domains").where("project_id", "=", p.project_id),
    ),
    givenUp: query.first((db, p: { name: string; now: string }) =>
      db.selectFrom("given_up_hosts").selectAll().where("name", "=", p.name).where("until", ">", p.now),
    ),
    giveUp: query.write((db, p: Row<"given_up_hosts">) =>
      db
        .insertInto("given_up_hosts")
        .values({ name: p.name, organization_id: p.organization_id, until: p.until })
        .onConflict((host) => host.column("name").doUpdateSet({ organization_id: p.organization_id, until: p.until })),
    ),
    giveUpOf: query.write((_, p: Key & { until: string }) =>
      giveUp(hostsOf(sql`project_id = ${p.project_id} and environment = ${p.environment}`), p),
    ),
    giveUpOfProject: query.write((_, p: OfProject & { until: string }) =>
      giveUp(hostsOf(sql`project_id = ${p.project_id}`), p),
    ),
    forgetGivenUp: query.write((db, p: { before: string }) =>
      db.deleteFrom("given_up_hosts").where("until", "<", p.before),
    ),
  };
}

type Of = { runtime_id: string };

/** Where several servers share the rows, and each environment runs on one of their runtimes. */
function onRuntimes(query: Queries) {
  return {
    setRuntime: query.change((db, p: Key & Of) =>
      db
        .updateTable("apps")
        .set({ runtime_id: p.runtime_id })
        .where("project_id", "=", p.project_id)
        .where("environment", "=", p.environment),
    ),
    ofSlug: query.first((db, p: { slug: string }) => db.selectFrom("apps").selectAll().where("slug", "=", p.slug)),
    /** What ran before there were several servers. */
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
        .selectAll()
        .where(sql<boolean>`deployment_id is not null`)
        .where("runtime_id", "=", p.runtime_id)
        .orderBy("project_id")
        .orderBy("environment"),
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
