import { type RawBuilder, sql } from "kysely";
import type { EnvironmentRange } from "../../kernel/page.ts";
import type { QueryBuilder } from "../../store/engine.ts";
import { equal, type Queries } from "../../store/query.ts";
import type { Row } from "../../store/tables.ts";

type Key = { project_id: string; environment: string };
type OfProject = { project_id: string };
type Named = Key & { name: string };

const domainOfOther = (db: QueryBuilder, p: Key & { organization_id: string; name: string }) =>
  db
    .selectFrom("app_domains")
    .select("name")
    .where("name", "=", p.name)
    .where((is) => is.or([is("status", "=", "active"), is("organization_id", "=", p.organization_id)]))
    .where((is) => is.or([is("project_id", "<>", p.project_id), is("environment", "<>", p.environment)]));

const active = sql<boolean>`status = 'active'`;

const hostsOf = (where: RawBuilder<unknown>) =>
  sql`select name as host, organization_id from app_domains where ${where} and status = 'active'
    union all select slug, organization_id from apps where ${where}`;

export function domainsRepository(query: Queries) {
  const change = (db: QueryBuilder, p: Named) =>
    db.updateTable("app_domains").where(equal(p, "project_id", "environment", "name"));
  /** Releases all hosts of a project or of one environment. */
  const giveUp = (hosts: RawBuilder<unknown>, p: { until: string }) =>
    sql`insert into given_up_hosts (name, organization_id, until)
      select host, organization_id, cast(${p.until} as text) from (${hosts}) as hosts where true
      on conflict (name) do update set organization_id = excluded.organization_id, until = excluded.until`;
  return {
    /** Whether a runtime has ever run an environment of this database. */
    anyApp: query.first((db, _: object) => db.selectFrom("apps").select("slug")),
    insertDomain: query.insert("app_domains"),
    activeDomain: query.first((db, p: { name: string }) =>
      db.selectFrom("app_domains").selectAll().where("name", "=", p.name).where(active),
    ),
    /** Another environment that serves a domain, or that waits for it in the same organization. */
    domainOfOther: query.first(domainOfOther),
    domainsOf: query.all((db, p: Key) =>
      db
        .selectFrom("app_domains")
        .selectAll()
        .where(equal(p, "project_id", "environment"))
        .orderBy("name"),
    ),
    domainsOfRange: query.all((db, p: EnvironmentRange) =>
      db
        .selectFrom("app_domains")
        .selectAll()
        .where("project_id", "=", p.project_id)
        .where("environment", ">=", p.first)
        .where("environment", "<=", p.last)
        .orderBy("environment")
        .orderBy("name"),
    ),
    setDomainStatus: query.change((db, p: Named & Pick<Row<"app_domains">, "status" | "reason">) =>
      change(db, p).set({ status: p.status, reason: p.reason }),
    ),
    setDomainReason: query.pipelined((db, p: Named & { reason: string }) => change(db, p).set({ reason: p.reason })),
    removeDomain: query.pipelined((db, p: Named) =>
      db.deleteFrom("app_domains").where(equal(p, "project_id", "environment", "name")),
    ),
    removeDomains: query.change((db, p: Key) =>
      db.deleteFrom("app_domains").where(equal(p, "project_id", "environment")),
    ),
    removeDomainsOfProject: query.change((db, p: OfProject) =>
      db.deleteFrom("app_domains").where("project_id", "=", p.project_id),
    ),
    givenUp: query.first((db, p: { name: string; now: string }) =>
      db.selectFrom("given_up_hosts").selectAll().where("name", "=", p.name).where("until", ">", p.now),
    ),
    giveUp: query.pipelined((db, p: Row<"given_up_hosts">) =>
      db
        .insertInto("given_up_hosts")
        .values({ name: p.name, organization_id: p.organization_id, until: p.until })
        .onConflict((host) => host.column("name").doUpdateSet({ organization_id: p.organization_id, until: p.until })),
    ),
    giveUpOf: query.pipelined((_, p: Key & { until: string }) =>
      giveUp(hostsOf(sql`project_id = ${p.project_id} and environment = ${p.environment}`), p),
    ),
    giveUpOfProject: query.pipelined((_, p: OfProject & { until: string }) =>
      giveUp(hostsOf(sql`project_id = ${p.project_id}`), p),
    ),
    forgetGivenUp: query.pipelined((db, p: { before: string }) =>
      db.deleteFrom("given_up_hosts").where("until", "<", p.before),
    ),
  };
}
