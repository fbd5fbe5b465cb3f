import type { Database } from "better-sqlite3";

/** Rows that break a rule of the store. */
export interface Violation {
  readonly rule: string;
  /** How many rows break it. */
  readonly count: number;
  /** The first three of them. */
  readonly examples: readonly Readonly<Record<string, unknown>>[];
}

/** For each deployment, how many events it has of each kind. */
const eventsOfDeployments = `
  select cast(json_extract(data, '$.deployment_id') as text) as id,
    sum(event = 'deployment.queued') as queued,
    sum(event = 'deployment.started') as started,
    sum(event = 'deployment.succeeded') as succeeded,
    sum(event = 'deployment.failed') as failed,
    sum(event = 'deployment.rolled_back' and json_extract(data, '$.reason') = 'health_check') as rolled_back
  from events where event like 'deployment.%' group by 1`;

/** Excludes deleted projects: a job removes their rows in batches, and until then only that job's rule applies. */
const kept = "project_id not in (select project_id from removals)";
/** Excludes work that a tester moves, which has no job. */
const movedByTime = "coalesce(json_extract(script, '$.pace'), '') not in ('polls', 'manual')";
/** Waiting deliveries: pending, in the current epoch of their endpoint, and the endpoint is not deleted. */
const pending = `
  select d.id, d.endpoint_id, d.next_attempt_at from endpoints e
  join deliveries d on d.endpoint_id = e.id and d.epoch = e.epoch and d.status = 'pending' where e.type <> 'removed'`;

const deploymentRules: Readonly<Record<string, string>> = {
  "a deployment's state and its events were stored together": `
    select d.id, d.status, e.* from deployments d left join (${eventsOfDeployments}) e on e.id = d.id
    where ${kept} and (e.id is null or e.queued <> 1
      or e.started <> case d.status when 'queued' then 0 when 'cancelled' then min(e.started, 1) else 1 end
      or e.succeeded <> (d.status = 'active') or e.failed <> (d.status = 'failed')
      or e.rolled_back <> (d.status = 'rolled_back'))`,
  "an event is about a deployment that exists, or whose project was removed": `
    select id, event, data from events
    where event like 'deployment.%'
      and json_extract(data, '$.deployment_id') not in (select id from deployments)
      and json_extract(data, '$.project_id') not in
        (select json_extract(data, '$.project_id') from events where event = 'project.deleted')`,
  "a project is announced once, and is gone exactly when its removal was announced": `
    select json_extract(e.data, '$.project_id') as id, count(*) as times, max(p.id) as still
    from events e left join projects p
      on p.id = json_extract(e.data, '$.project_id') and p.id not in (select project_id from removals)
    where e.event in ('project.created', 'project.deleted') group by 1
    having sum(e.event = 'project.created') > 1 or sum(e.event = 'project.deleted') <> (max(p.id) is null)`,
  "one deployment builds or rolls out at a time in an environment": `
    select project_id, environment, count(*) as running from deployments
    where status in ('building', 'deploying') group by 1, 2 having count(*) > 1`,
  "deployments of an environment begin in the order in which they were made": `
    select id, event, before from (
      select d.id, e.id as event, lag(e.id) over (partition by d.project_id, d.environment order by d.id) as before
      from deployments d join events e
        on e.event = 'deployment.started' and json_extract(e.data, '$.deployment_id') = d.id)
    where event < before`,
  "the times and the version of a deployment are those of its state": `
    select id, status, version, completed_at, deployed_at from deployments
    where (completed_at is not null) <> (status in ('active', 'failed', 'cancelled', 'rolled_back'))
      or (deployed_at is not null) <> (status = 'active')
      or (version is null and status in ('deploying', 'active', 'rolled_back'))`,
  "a deployment that runs has exactly one job that advances it": `
    select d.id, d.status, count(j.id) as jobs from deployments d
    left join jobs j on j.kind || '@' like 'deployments.advance@%' and json_extract(j.args, '$.deployment_id') = d.id
    where d.status in ('building', 'deploying') and ${kept} and ${movedByTime} group by d.id having count(j.id) <> 1`,
  "the first deployment of a queue is lined up if nothing runs in its environment, and no other one is": `
    select d.id, d.lined_up from deployments d where d.status = 'queued' and ${kept}
      and (d.lined_up > 0) = (
        exists (select 1 from deployments o where o.project_id = d.project_id and o.environment = d.environment
          and o.status in ('building', 'deploying'))
        or exists (select 1 from deployments o where o.project_id = d.project_id and o.environment = d.environment
          and o.status = 'queued' and o.id < d.id))`,
  "a job is there once lined-up deployments are ready": `
    select id, ready_at from deployments d where status = 'queued' and lined_up = 1 and ${kept} and ${movedByTime}
      and not exists (select 1 from jobs where kind = 'deployments.turns'
        and coalesce(json_extract(args, '$.organization_id'), d.organization_id) = d.organization_id)`,
  "a job or a running deployment starts queued deployments": `
    select id from deployments where status = 'queued' and ${kept} and ${movedByTime}
      and not exists (select 1 from jobs where kind = 'deployments.turns')
      and not exists (select 1 from deployments where status in ('building', 'deploying'))`,
  "a log has no gap, and is as long as its deployment says": `
    select d.id, d.log_entries, d.log_bytes from deployments d
    left join deployment_logs l on l.deployment_id = d.id where ${kept} group by d.id
    having count(l.seq) <> d.log_entries or coalesce(max(l.seq) + 1, 0) <> d.log_entries
      or (coalesce(sum(length(cast(l.message as blob))), 0) <> d.log_bytes and d.log_bytes < 8388096)`,
  "a job removes the rows of a deleted project or endpoint": `
    select r.project_id as id from removals r where r.project_id not in
      (select json_extract(args, '$.id') from jobs where kind = 'projects.clear')
    union all select e.id from endpoints e where e.type = 'removed' and e.id not in
      (select json_extract(args, '$.id') from jobs where kind = 'endpoints.clear')`,
};

const deliveryRules: Readonly<Record<string, string>> = {
  "a delivery carries an event of its organization, once to each target of an endpoint": `
    select d.id, d.event_id, d.event from deliveries d left join events e on e.id = d.event_id
    where d.event <> 'ping' and (e.id is null or e.event <> d.event or e.organization_id <> d.organization_id)
    union all select min(id), event_id, count(*) from deliveries group by endpoint_id, event_id, target
      having count(*) > 1`,
  "a delivery has six attempts at most in its schedule, and counts each one that it stores": `
    select d.id, d.tries, d.rung, count(a.number) as stored from deliveries d
    left join delivery_attempts a on a.delivery_id = d.id group by d.id
    having d.rung > 6 or d.rung > d.tries or coalesce(max(a.number), 0) > d.tries`,
  "a delivery that succeeded or was abandoned has its last attempt stored, and no next one": `
    select id, status, tries, next_attempt_at from deliveries
    where status not in ('pending', 'succeeded', 'abandoned', 'skipped')
      or (status <> 'pending' and next_attempt_at is not null) or (status = 'succeeded' and tries = 0)
      or (status = 'abandoned' and rung < 6)`,
  "a job sends what is pending": `
    select id, endpoint_id from (${pending}) where next_attempt_at is not null and 'job_' || endpoint_id not in
      (select id from jobs where kind = 'deliveries.pump')
    union all select id, endpoint_id from (${pending}) where next_attempt_at is null and id not in
      (select json_extract(args, '$.delivery_id') from jobs where kind = 'deliveries.end')`,
};

const generationRules: Readonly<Record<string, string>> = {
  "the times, the file and the error of a generation are those of its state": `
    select id, status, completed_at, content_type, error_code from generations
    where status not in ('queued', 'in_progress', 'completed', 'failed')
      or (completed_at is not null) <> (status in ('completed', 'failed'))
      or (error_code is not null) <> (status = 'failed') or (content_type is not null and status <> 'completed')
      or (content_type is null) <> (etag is null) or (content_type is null) <> (bytes is null)`,
  "a generation in progress has exactly one job that advances it": `
    select g.id, count(j.id) as jobs from generations g
    left join jobs j on j.kind = 'generations.advance' and json_extract(j.args, '$.generation_id') = g.id
    where g.status = 'in_progress' and ${movedByTime} group by g.id having count(j.id) <> 1`,
  "usage counts each completed generation once": `
    select organization_id, date, model, sum(generations) as difference, sum(cost_micros) as cost_micros from (
      select organization_id, date, model, generations, cost_micros from generation_usage
      union all select organization_id, substr(completed_at, 1, 10), model, -1, -cost_micros from generations
        where status = 'completed')
    group by 1, 2, 3 having sum(generations) <> 0 or sum(cost_micros) <> 0`,
};

/** The rules of the store, which hold after every commit. Each query returns the rows that break its rule. */
export const invariants: Readonly<Record<string, string>> = {
  ...deploymentRules,
  ...deliveryRules,
  ...generationRules,
  "a pending mail has exactly one job that sends it": `
    select m.id, count(j.id) as jobs from mails m
    left join jobs j on j.kind = 'mails.send' and json_extract(j.args, '$.id') = m.id
    where m.status = 'pending' group by m.id having count(j.id) <> 1`,
  "an open preview has its environment, and a job that ends it": `
    select p.integration_id, p.number, p.environment from previews p where p.status = 'open' and p.${kept}
      and (not exists (select 1 from environments e where e.project_id = p.project_id and e.name = p.environment)
        or not exists (select 1 from jobs where id = 'job_preview ' || p.integration_id || ' ' || p.number))`,
  "the rows of a record belong to its organization": `
    select d.id from deployments d join projects p on p.id = d.project_id where p.organization_id <> d.organization_id
    union all select l.deployment_id from deployment_logs l join deployments d on d.id = l.deployment_id
      where l.organization_id <> d.organization_id
    union all select k.id from api_keys k join users u on u.id = k.user_id where u.organization_id <> k.organization_id
    union all select d.id from deliveries d join endpoints e on e.id = d.endpoint_id
      where e.organization_id <> d.organization_id
    union all select a.delivery_id from delivery_attempts a join deliveries d on d.id = a.delivery_id
      where a.organization_id <> d.organization_id`,
  "a running job was counted, and has a lease owner": `
    select id, state, attempt, failures, crashes, lease_owner from jobs
    where (state = 'running' and (attempt < 1 or lease_owner is null or lease_until is null))
      or crashes > attempt or failures > attempt or state not in ('waiting', 'running')`,
  "every reference leads to a row": "select * from pragma_foreign_key_check",
  "the pages and the indexes of the file are whole":
    "select integrity_check as problem from pragma_integrity_check where integrity_check <> 'ok'",
};

export function violationOf(database: Database, rule: string): Violation | undefined {
  const examples: Record<string, unknown>[] = [];
  let count = 0;
  for (const row of database.prepare(invariants[rule] ?? "").iterate()) {
    count += 1;
    if (count <= 3) examples.push(row as Record<string, unknown>);
  }
  return count === 0 ? undefined : { rule, count, examples };
}

/** Checks every rule, each on its own snapshot. */
export const violationsOf = (database: Database): Violation[] =>
  Object.keys(invariants).flatMap((rule) => violationOf(database, rule) ?? []);
