import { Client } from "pg";
import { type LimitStore, type Order, recordOf, serveLimit } from "./limit-http.ts";

/**
 * The limit on PostgreSQL, in its own schema of the service's database, with copies of the service's keys, projects and
 * deployments. A read is one statement; all writes of one tick are five statements and a commit in one packet.
 */
const [url = ""] = process.argv.slice(2);
const connect = async () => {
  const client = new Client({ connectionString: url, pipeline: true });
  await client.connect();
  await client.query("set search_path to limits, public");
  return client;
};
const [reading, writing] = [await connect(), await connect()];
await writing.query(`
  drop schema if exists limits cascade;
  create schema limits;
  create table limits.keys as select k.hash, k.organization_id, u.status,
    json_build_object('user_id', u.id, 'key_id', k.id, 'via', 'api')::text as created_by from public.api_keys k join public.users u on u.id = k.user_id;
  create unique index on limits.keys (hash);
  create table limits.projects as select id, organization_id, status from public.projects;
  create unique index on limits.projects (id);
  create table limits.environments (project_id text, name text, variables text, primary key (project_id, name));
  create table limits.deployments as select id, organization_id, project_id, environment, status, source::json as source,
    repo, version, ready_at, created_at, updated_at, completed_at, deployed_at, created_by::json as created_by
    from public.deployments;
  create unique index on limits.deployments (id);
  create index on limits.deployments (organization_id collate "C", id collate "C");
  create index on limits.deployments (project_id, environment, id);
  create index queue on limits.deployments (project_id, environment, id) where status = 'queued';
  create table limits.logs (deployment_id text, seq integer, at text, level text, message text, primary key (deployment_id, seq));
  create table limits.events (id text primary key, organization_id text, event text, at text, data text);
  create index on limits.events (organization_id, id);
  create table limits.jobs (id text primary key, kind text, args text, run_at text);
`);
await writing.query("analyze limits.deployments");

const common = "'id', id, 'project_id', project_id, 'environment', environment, 'status', d.status";
const rest =
  "'version', version, 'created_at', created_at, 'updated_at', updated_at, 'completed_at', completed_at, 'created_by', created_by";
const json = (fields: string) =>
  `(case when deployed_at is null then json_build_object(${fields}) else json_build_object(${fields}, 'deployed_at', deployed_at) end)::text as record`;
const ofKey = `organization_id = (select organization_id from limits.keys where hash = $1 and status = 'active')`;
const get = `select ${json(`${common}, 'source', source, ${rest}`)} from limits.deployments d where id = $2 and ${ofKey}`;
const list = `select ${json(`${common}, ${rest}`)} from limits.deployments d where ${ofKey.replace("organization_id", 'organization_id collate "C"')} order by id collate "C" desc limit 21`;

const ask = async (name: string, text: string, values: unknown[]) =>
  (await reading.query({ name, text, values })).rows.map(({ record }) => record as string);

const columns = [
  "key",
  "id",
  "project_id",
  "environment",
  "source",
  "repo",
  "at",
  "due",
  "event_id",
  "event",
  "job_id",
] as const;
/** The orders whose key and project are valid, from one array for each column. */
const orders = `orders as (select o.*, k.organization_id, k.created_by
  from unnest(${columns.map((_, i) => `$${i + 1}::text[]`).join()}) as o (${columns.join()})
  join limits.keys k on k.hash = o.key and k.status = 'active'
  join limits.projects p on p.id = o.project_id and p.organization_id = k.organization_id and p.status = 'active')`;
const statements = [
  `with ${orders} insert into limits.environments select distinct project_id, environment, '{}' from orders on conflict do nothing`,
  `with ${orders} insert into limits.jobs select min(job_id), 'deployments.turn', '{}', min(due) from orders o where not exists
    (select 1 from limits.deployments d where d.status = 'queued' and d.project_id = o.project_id and d.environment = o.environment)
    group by project_id, environment`,
  `with ${orders} insert into limits.logs select id, 0, at, 'info', 'Queued' from orders`,
  `with ${orders} insert into limits.events select event_id, organization_id, 'deployment.queued', at, event from orders`,
  `with ${orders} insert into limits.deployments select id, organization_id, project_id, environment, 'queued', source::json,
    repo, null, due, at, at, null, null, created_by::json from orders returning id, created_by::text`,
];

async function create(all: readonly Order[]): Promise<(string | undefined)[]> {
  const values = columns.map((name) => all.map((order) => order[name]));
  const begun = writing.query("begin");
  const sent = statements.map((text, i) => writing.query({ name: `write ${i}`, text, values }));
  const committed = writing.query("commit");
  const results = await Promise.all(sent);
  await Promise.all([begun, committed]);
  const made = new Map<string, string>(results.at(-1)?.rows.map(({ id, created_by }) => [id, created_by]));
  return all.map((order) => {
    const created_by = made.get(order.id);
    return created_by === undefined ? undefined : recordOf(order, created_by);
  });
}

const store: LimitStore = {
  get: async (key, id, done) => done((await ask("get", get, [key, id]))[0]),
  list: async (key, done) => done(await ask("list", list, [key])),
  create: async (all, done) => done(await create(all)),
  close: () => Promise.all([reading.end(), writing.end()]),
};
serveLimit(store);
