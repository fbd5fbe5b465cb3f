import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "pg";
import { hashOf } from "../../lib/features/keys/identities.ts";
import { createService, type Service } from "../../lib/index.ts";
import { replaceSystemTime } from "../../lib/kernel/node/system.ts";
import { lockOf } from "../../lib/store/postgres/locks.ts";
import { bearer } from "../helpers/headers.ts";
import { until } from "../helpers/until.ts";
import { call, openSocket, severalServices } from "./several.ts";

const git = { type: "git", repo: "acme/web", branch: "main" };
const project = (name: string) => ({ name, region: "eu-west-1" });
const three = <T>(make: (i: number) => T): T[] => Array.from({ length: 3 }, (_, i) => make(i));

test("three first starts at once make one organization and one first key, with one encryption key", async (t) => {
  const { services, ask, url } = await severalServices(t, 3);
  assert.equal(services.filter(({ apiKey }) => apiKey !== null).length, 1);
  const rows = "select (select count(*) from organizations) as organizations, (select count(*) from api_keys) as keys";
  assert.deepEqual(await ask(rows), [{ organizations: "1", keys: "1" }]);
  const foreign = { mode: "start", database: url, encryptionKey: "0".repeat(64) } as const;
  await assert.rejects(createService(foreign), /were encrypted with another key/);
});

test("a request that waits hears of the work of another process", async (t) => {
  const { services, key } = await severalServices(t, 2);
  const [one, two] = services as [Service<string | null>, Service<string | null>];
  const { id: project_id } = (await call(one, key, "POST", "/v1/projects", project("web"))).body;
  const order = { project_id, environment: "production", source: git };
  const { id } = (await call(one, key, "POST", "/v1/deployments", order)).body;
  const waiting = call(two, key, "GET", `/v1/deployments/${id}?wait=60`);
  assert.equal((await call(one, key, "POST", `/v1/deployments/${id}/cancel`)).status, 200);
  assert.equal((await waiting).body.status, "cancelled");
  // The same for a whole deployment, in any process.
  const next = (await call(two, key, "POST", "/v1/deployments", order)).body.id;
  assert.equal((await call(one, key, "GET", `/v1/deployments/${next}?wait=60`)).body.status, "active");
  const log = await two.fetch(`/v1/deployments/${next}/logs?follow=true`, { headers: bearer(key) });
  assert.match(await log.text(), /Deployment succeeded[\s\S]*event: end/);
});

test("a stream has the events of all processes once each, in the order of their commits", async (t) => {
  const { services, key, ask } = await severalServices(t, 3);
  const streams = await Promise.all(services.map((service) => openSocket(t, service, key)));
  const count = 60;
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      call(services[i % 3] as Service<string | null>, key, "POST", "/v1/projects", project(`project-${i}`)),
    ),
  );
  const committed = (await ask("select id from events order by id")).map(({ id }) => id);
  assert.equal(committed.length, count);
  for (const stream of streams) assert.deepEqual(await stream.events(count), committed);
  // A resumed stream has the rest of the events, none twice.
  const resumed = await openSocket(t, services[2] as Service<string | null>, key, `?after=${committed[39]}`);
  await call(services[0] as Service<string | null>, key, "POST", "/v1/projects", project("last"));
  const last = (await ask("select max(id) as id from events"))[0]?.id;
  assert.deepEqual(await resumed.events(count - 39), [...committed.slice(40), last]);
});

test("identifiers are in the order of the commits, although a process is behind", async (t) => {
  const { services, key, ask } = await severalServices(t, 2);
  const [one, two] = services as [Service<string | null>, Service<string | null>];
  // The first process's last identifier is far ahead, as after a wrong clock.
  await call(one, key, "POST", "/v1/projects", project("first"));
  await ask("update events set id = 'evt_7ZZZZZZZZZ0000000000000000'");
  await call(two, key, "POST", "/v1/projects", project("second"));
  await call(one, key, "POST", "/v1/projects", project("third"));
  const names = "select data::json->>'name' as name from events order by id";
  assert.deepEqual(await ask(names), [{ name: "first" }, { name: "second" }, { name: "third" }]);
});

test("a rate window counts the requests of all processes exactly", async (t) => {
  const { services, key } = await severalServices(t, 3, { rateLimit: 50 });
  const answers = await Promise.all(
    Array.from({ length: 90 }, (_, i) => call(services[i % 3] as Service<string | null>, key, "GET", "/v1/me")),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 50);
  assert.equal(answers.filter(({ status }) => status === 429).length, 40);
  const left = answers
    .filter(({ status }) => status === 200)
    .map(({ headers }) => headers.get("x-ratelimit-remaining"));
  assert.deepEqual(
    left.map(Number).sort((a, b) => a - b),
    Array.from({ length: 50 }, (_, i) => i),
  );
});

test("an idempotency key does its work once in all processes, and each gets the first answer", async (t) => {
  const { services, key, ask } = await severalServices(t, 3);
  for (let round = 0; round < 10; round++) {
    const headers = { "idempotency-key": `round ${round}` };
    const answers = await Promise.all(
      services.map((service) => call(service, key, "POST", "/v1/projects", project(`web-${round}`), headers)),
    );
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.id]),
      three(() => [201, answers[0]?.body.id]),
    );
    assert.equal(answers.filter((one) => one.headers.get("idempotent-replayed") === null).length, 1);
    const other = await call(
      services[round % 3] as Service<string | null>,
      key,
      "POST",
      "/v1/projects",
      project("x"),
      headers,
    );
    assert.equal(other.body.error.code, "idempotency_mismatch");
  }
  assert.deepEqual(await ask("select count(*) from projects"), [{ count: "10" }]);
  assert.deepEqual(await ask("select count(*) from events"), [{ count: "10" }]);
});

test("a revoked key stops in every process, and ends its streams and waiting requests there", async (t) => {
  const { services, key } = await severalServices(t, 2);
  const [one, two] = services as [Service<string | null>, Service<string | null>];
  const made = (await call(one, key, "POST", "/v1/api-keys", { name: "second", scopes: ["*"] })).body;
  const { id: project_id } = (await call(one, key, "POST", "/v1/projects", project("web"))).body;
  const order = { project_id, environment: "production", source: git };
  const { id } = (await call(one, key, "POST", "/v1/deployments", order)).body;
  const stream = await openSocket(t, two, made.key);
  const waiting = call(two, made.key, "GET", `/v1/deployments/${id}?wait=60`);
  assert.equal((await call(one, key, "DELETE", `/v1/api-keys/${made.id}`)).status, 204);
  assert.equal((await call(two, made.key, "GET", "/v1/me")).status, 401);
  assert.equal((await stream.closed)[0], 4401);
  assert.equal((await waiting).status, 401);
});

test("a name is taken once, and the limits over all hold, whichever processes are asked", async (t) => {
  const { services, key, ask } = await severalServices(t, 3, { deployments: { concurrency: 2 } });
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      services.map((service) => call(service, key, "POST", "/v1/projects", project(`Web-${round}`))),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
  }
  const ids = (await ask("select id from projects")).map(({ id }) => id);
  const orders = ids.map((project_id) => ({ project_id, environment: "production", source: git }));
  const made = await Promise.all(
    orders.map((order, i) => call(services[i % 3] as Service<string | null>, key, "POST", "/v1/deployments", order)),
  );
  await Promise.all(
    made.map(({ body }, i) =>
      call(services[(i + 1) % 3] as Service<string | null>, key, "GET", `/v1/deployments/${body.id}?wait=60`),
    ),
  );
  const events = await ask("select event from events where event <> 'deployment.queued' order by id");
  const steps = events.map(
    ({ event }) => ({ "deployment.started": 1, "deployment.succeeded": -1 })[String(event)] ?? 0,
  );
  let running = 0;
  const counts = steps.map((step) => {
    running += step;
    return running;
  });
  assert.deepEqual([running, Math.max(...counts)], [0, 2]);
});

test("a job of a process that ended is taken back when its lease is over, and not before", async (t) => {
  const { services, start, key, ask } = await severalServices(t, 1);
  const [one] = services as [Service];
  await call(one, key, "POST", "/v1/projects", project("web"));
  const put = (id: string, until: string) =>
    ask(
      `insert into jobs (id, kind, args, state, run_at, attempt, failures, crashes, strikes, lease_owner, lease_until)
       values ('${id}', 'endpoints.clear', '{"organization_id":"org_none","id":"wh_none"}', 'running', '2026-01-01T00:00:00.000Z', 1, 0, 0, 0, 'dead', '${until}')`,
    );
  await put("job_LIVE", "2999-01-01T00:00:00.000Z");
  await put("job_DEAD", "2026-01-01T00:00:00.000Z");
  const two = await start();
  const left = async () => (await ask("select id from jobs where id in ('job_LIVE', 'job_DEAD')")).map(({ id }) => id);
  await until(
    async () => !((await left()).length > 1),
    () => call(two, key, "GET", "/v1/me"),
  );
  assert.deepEqual(await left(), ["job_LIVE"]);
});

test("an acceptance does not wait for transactions of other organizations", { timeout: 60_000 }, async (t) => {
  const { services, key, ask, url } = await severalServices(t, 1);
  const [service] = services as [Service];
  const invited = await call(service, key, "POST", "/v1/users/invite", { email: "a@example.com", role: "viewer" });
  assert.equal(invited.status, 201);
  await ask(`update invitations set token_hash = '${hashOf("known")}'`);
  const other = new Client({ connectionString: url });
  await other.connect();
  try {
    await other.query(`select pg_advisory_lock_shared(${lockOf("transaction")})`);
    const accept = (token: string) => call(service, "", "POST", "/v1/invitations/accept", { token, name: "Ada" });
    assert.equal((await accept("unknown")).status, 404);
    assert.deepEqual(
      (await Promise.all([accept("known"), accept("known")])).map(({ status }) => status).sort(),
      [201, 404],
    );
  } finally {
    await other.end();
  }
});

test("processes show the time of the database, although the clocks of their machines are 30 s apart", async (t) => {
  const { ask, start, services } = await severalServices(t, 1);
  const real = { setTimeout, clearTimeout, now: Date.now, monotonic: performance.now.bind(performance) };
  t.after(() => replaceSystemTime(real));
  replaceSystemTime({ ...real, now: () => Date.now() - 30_000 });
  const behind = await start();
  for (const { clock } of [...services, behind]) {
    const before = clock.now().getTime();
    const [row] = await ask("select extract(epoch from clock_timestamp()) * 1000 as now");
    const [now, after] = [Number(row?.now), clock.now().getTime()];
    assert.ok(before - now < 1_000 && now - after < 1_000, `${before} ${now} ${after}`);
  }
});

test("after a lost connection streams end, to begin anew, and waiting requests go on", async (t) => {
  const { services, key, ask } = await severalServices(t, 2);
  const [one, two] = services as [Service<string | null>, Service<string | null>];
  const { id: project_id } = (await call(one, key, "POST", "/v1/projects", project("web"))).body;
  const order = { project_id, environment: "production", source: git };
  const { id } = (await call(one, key, "POST", "/v1/deployments", order)).body;
  const stream = await openSocket(t, two, key);
  const waiting = call(two, key, "GET", `/v1/deployments/${id}?wait=60`);
  await ask(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%listener' and datname = current_database()",
  );
  assert.equal((await stream.closed)[0], 1001);
  assert.equal((await waiting).body.status, "active");
});

test("what another program notifies is passed over", async (t) => {
  const { services, ask, key } = await severalServices(t, 2);
  for (const payload of ["", "x", "someone x", "someone null", 'someone {"kind":"new"}'])
    await ask(`select pg_notify('svc_server', '${payload}')`);
  const [one, two] = services as [Service<string | null>, Service<string | null>];
  const made = (await call(one, key, "POST", "/v1/projects", project("web"))).body;
  assert.equal((await call(two, key, "GET", `/v1/projects/${made.id}`)).status, 200);
});
