import Database from "better-sqlite3";
import { type LimitStore, type Order, recordOf, serveLimit } from "./limit-http.ts";

/**
 * The limit on SQLite. Copies the keys, projects and deployments of `service`, a database of the service, into a new
 * file.
 */
const [file = "", service] = process.argv.slice(2);
const db = new Database(file);
for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "temp_store = MEMORY"]) db.pragma(pragma);
if (service !== undefined)
  db.exec(`
  attach '${service}' as service;
  create table keys (hash text primary key, organization_id text, scopes text, role text, status text,
    created_by text) without rowid;
  insert into keys select k.hash, k.organization_id, k.scopes, u.role, u.status,
    json_object('user_id', u.id, 'key_id', k.id, 'via', 'api')
    from service.api_keys k join service.users u on u.id = k.user_id;
  create table projects (id text primary key, organization_id text, status text) without rowid;
  insert into projects select id, organization_id, status from service.projects;
  create table environments (project_id text, name text, variables text, primary key (project_id, name)) without rowid;
  create table deployments (id text primary key, organization_id text, project_id text, environment text, status text,
    source text, repo text, version text, ready_at text, created_at text, updated_at text, completed_at text,
    deployed_at text, created_by text) without rowid;
  insert into deployments select id, organization_id, project_id, environment, status, source, repo, version, ready_at,
    created_at, updated_at, completed_at, deployed_at, created_by from service.deployments;
  create index listed on deployments (organization_id, id);
  create index listed_by_project on deployments (project_id, environment, id);
  create index queue on deployments (project_id, environment, id) where status = 'queued';
  create table logs (deployment_id text, seq integer, at text, level text, message text,
    primary key (deployment_id, seq)) without rowid;
  create table subscribers (organization_id text, events text);
  create index subscribers_of on subscribers (organization_id);
  create table events (id text primary key, organization_id text, event text, at text, data text) without rowid;
  create index events_listed on events (organization_id, id);
  create table jobs (id text primary key, kind text, args text, run_at text) without rowid;
`);

const common = "'id', id, 'project_id', project_id, 'environment', environment, 'status', status";
const rest =
  "'version', version, 'created_at', created_at, 'updated_at', updated_at, 'completed_at', completed_at, 'created_by', json(created_by)";
/** Leaves out `deployed_at` if it is null. */
const json = (fields: string) =>
  `case when deployed_at is null then json_object(${fields}) else json_object(${fields}, 'deployed_at', deployed_at) end`;
const statement = {
  key: db.prepare("select organization_id, scopes, role, status, created_by from keys where hash = ?").raw(),
  get: db
    .prepare(
      `select ${json(`${common}, 'source', json(source), ${rest}`)} from deployments where id = ? and organization_id = ?`,
    )
    .pluck(),
  list: db
    .prepare(
      `select ${json(`${common}, ${rest}`)} from deployments where organization_id = ? order by id desc limit 21`,
    )
    .pluck(),
  project: db.prepare("select status from projects where id = ? and organization_id = ?").pluck(),
  environment: db.prepare("insert or ignore into environments values (?, ?, '{}')"),
  queued: db
    .prepare("select 1 from deployments where status = 'queued' and project_id = ? and environment = ? limit 1")
    .pluck(),
  deployment: db.prepare("insert into deployments values (?, ?, ?, ?, 'queued', ?, ?, null, ?, ?, ?, null, null, ?)"),
  log: db.prepare("insert into logs values (?, 0, ?, 'info', 'Queued')"),
  subscribers: db.prepare("select events from subscribers where organization_id = ?").pluck(),
  event: db.prepare("insert into events values (?, ?, 'deployment.queued', ?, ?)"),
  job: db.prepare("insert into jobs values (?, 'deployments.turn', '{}', ?)"),
  begin: db.prepare("begin immediate"),
  commit: db.prepare("commit"),
};

/** The organization of a key and what it makes is marked with, or undefined for an invalid key. */
function callerOf(key: string): { organization_id: string; created_by: string } | undefined {
  const row = statement.key.get(key) as [string, string, string, string, string] | undefined;
  if (row?.[3] !== "active" || (JSON.parse(row[1]) as string[]).length === 0) return undefined;
  return { organization_id: row[0], created_by: row[4] };
}
const organizationOf = (key: string) => callerOf(key)?.organization_id;

function create(order: Order): string | undefined {
  const { id, project_id, environment, at, due } = order;
  const caller = callerOf(order.key);
  if (!caller || statement.project.get(project_id, caller.organization_id) !== "active") return undefined;
  const { organization_id, created_by } = caller;
  statement.environment.run(project_id, environment);
  const isFirst = statement.queued.get(project_id, environment) === undefined;
  statement.deployment.run(
    id,
    organization_id,
    project_id,
    environment,
    order.source,
    order.repo,
    due,
    at,
    at,
    created_by,
  );
  statement.log.run(id, at);
  statement.event.run(order.event_id, organization_id, at, order.event);
  statement.subscribers.all(organization_id);
  if (isFirst) statement.job.run(order.job_id, due);
  return recordOf(order, created_by);
}

const store: LimitStore = {
  get(key, id, done) {
    const organization_id = organizationOf(key);
    done(organization_id && (statement.get.get(id, organization_id) as string | undefined));
  },
  list(key, done) {
    const organization_id = organizationOf(key);
    done(organization_id === undefined ? undefined : (statement.list.all(organization_id) as string[]));
  },
  create(orders, done) {
    statement.begin.run();
    const texts = orders.map(create);
    statement.commit.run();
    done(texts);
  },
  close: () => db.close(),
};
serveLimit(store);
