import type { Database } from "better-sqlite3";

/** The counts of a deployment's events, by name. */
const events = `
  select json_extract(data, '$.deployment_id') as id,
    sum(event = 'deployment.queued') as queued,
    sum(event = 'deployment.started') as started,
    sum(event = 'deployment.succeeded') as succeeded,
    sum(event = 'deployment.failed') as failed,
    sum(event = 'deployment.rolled_back' and json_extract(data, '$.reason') = 'health_check') as rolled_back
  from events where event like 'deployment.%' group by 1`;

/**
 * Rules that hold for every database after every commit, whatever happened to the processes that wrote it. Each query
 * returns the rows that break its rule.
 */
export const invariants: Readonly<Record<string, string>> = {
  "a deployment's state and its events were stored together": `
    select d.id, d.status, e.* from deployments d left join (${events}) e on e.id = d.id
    where e.id is null or e.queued <> 1
      or e.started <> case d.status when 'queued' then 0 when 'cancelled' then min(e.started, 1) else 1 end
      or e.succeeded <> (d.status = 'active') or e.failed <> (d.status = 'failed')
      or e.rolled_back <> (d.status = 'rolled_back')`,
  "an event is about a deployment that exists, or whose project was removed": `
    select e.id, e.event, e.data from events e
    where e.event like 'deployment.%'
      and not exists (select 1 from deployments d where d.id = json_extract(e.data, '$.deployment_id'))
      and not exists (select 1 from events r where r.event = 'project.deleted'
        and json_extract(r.data, '$.project_id') = json_extract(e.data, '$.project_id'))`,
  "a project is announced once, and is gone exactly when its removal was announced": `
    select json_extract(e.data, '$.project_id') as id, count(*) as times, max(p.id) as still
    from events e left join projects p on p.id = json_extract(e.data, '$.project_id')
    where e.event in ('project.created', 'project.deleted') group by 1
    having sum(e.event = 'project.created') > 1 or sum(e.event = 'project.deleted') <> (max(p.id) is null)`,
  "one deployment builds or rolls out at a time in an environment": `
    select project_id, environment, count(*) as running from deployments
    where status in ('building', 'deploying') group by 1, 2 having count(*) > 1`,
  "deployments of an environment begin in the order in which they were made": `
    with begun as (select d.id, d.project_id, d.environment, e.id as event from deployments d
      join events e on e.event = 'deployment.started' and json_extract(e.data, '$.deployment_id') = d.id)
    select a.id, b.id as later from begun a
    join begun b on b.project_id = a.project_id and b.environment = a.environment and b.id > a.id and b.event < a.event`,
  "the times and the version of a deployment are those of its state": `
    select id, status, version, completed_at, deployed_at from deployments
    where (completed_at is not null) <> (status in ('active', 'failed', 'cancelled', 'rolled_back'))
      or (deployed_at is not null) <> (status = 'active')
      or (version is null and status in ('deploying', 'active', 'rolled_back'))
      or updated_at < created_at or step_at < created_at or completed_at < created_at`,
  "a deployment that runs has exactly one job that advances it": `
    select d.id, d.status, count(j.id) as jobs from deployments d
    left join jobs j on j.kind = 'deployments.advance' and json_extract(j.args, '$.deployment_id') = d.id
    where d.status in ('building', 'deploying') group by d.id having count(j.id) <> 1`,
  "the first of a queue has lined up where nothing of its environment runs, and nobody else": `
    select d.id, d.lined_up from deployments d where d.status = 'queued'
      and (d.lined_up > 0) = exists (select 1 from deployments o
        where o.project_id = d.project_id and o.environment = d.environment
          and (o.status in ('building', 'deploying') or (o.status = 'queued' and o.id < d.id)))`,
  "a job comes when those that have lined up are ready": `
    select id, ready_at from deployments where status = 'queued' and lined_up = 1 and script is null
      and not exists (select 1 from jobs where kind = 'deployments.turns')`,
  "somebody will see to those that are queued": `
    select id from deployments where status = 'queued'
      and not exists (select 1 from jobs where kind = 'deployments.turns')
      and not exists (select 1 from deployments where status in ('building', 'deploying'))`,
  "a log has no gap, and is as long as its deployment says": `
    select d.id, d.log_entries, d.log_bytes from deployments d
    left join deployment_logs l on l.deployment_id = d.id group by d.id
    having count(l.seq) <> d.log_entries or coalesce(max(l.seq) + 1, 0) <> d.log_entries
      or (coalesce(sum(length(cast(l.message as blob))), 0) <> d.log_bytes and d.log_bytes < 8388608)`,
  "whatever belongs to a record belongs to its organization": `
    select d.id from deployments d join projects p on p.id = d.project_id where p.organization_id <> d.organization_id
    union all select l.deployment_id from deployment_logs l join deployments d on d.id = l.deployment_id
      where l.organization_id <> d.organization_id
    union all select k.id from api_keys k join users u on u.id = k.user_id where u.organization_id <> k.organization_id`,
  "a deployment's environment was made with it": `
    select d.id from deployments d
    left join environments e on e.project_id = d.project_id and e.name = d.environment where e.name is null`,
  "a job that was begun was counted, and has a holder": `
    select id, state, attempt, failures, crashes, lease_owner from jobs
    where (state = 'running' and (attempt < 1 or lease_owner is null or lease_until is null))
      or crashes > attempt or failures > attempt or state not in ('waiting', 'running')`,
};

/** One line for each broken rule of a database, with the first rows that break it. */
export function violations(database: Database): string[] {
  const wrong = Object.entries(invariants).flatMap(([rule, sql]) => {
    const rows = database.prepare(sql).all();
    return rows.length === 0 ? [] : [`${rule}: broken ${rows.length} times, ${JSON.stringify(rows.slice(0, 3))}`];
  });
  const integrity = database.pragma("integrity_check", { simple: true });
  if (integrity !== "ok") wrong.push(`integrity_check: ${integrity}`);
  const foreign = database.pragma("foreign_key_check") as unknown[];
  if (foreign.length > 0) wrong.push(`foreign_key_check: ${JSON.stringify(foreign.slice(0, 3))}`);
  return wrong;
}

/** The work that is left in a database which has had all the time that it needs. */
export function unfinished(database: Database): unknown[] {
  return [
    ...database.prepare("select id, status from deployments where status in ('queued', 'building', 'deploying')").all(),
    ...database.prepare("select * from jobs where kind not like 'service.%'").all(),
  ];
}
