import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "pg";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { isLong } from "../helpers/properties.ts";
import { firstOf, until } from "../helpers/until.ts";
import { createCaller, followEvents, roundRobin, startProcesses } from "./processes.ts";
import { startServer } from "./server.ts";
import { slowReceivers, stopFor } from "./slow-receivers.ts";

/**
 * How many requests to send, and after how many a process is killed, a process is paused, and the database crashes.
 */
const plan = isLong
  ? { requests: 10_000, kill: 900, stop: 1_600, stop_ms: 70_000, crash: 3_000, concurrency: 100 }
  : { requests: 400, kill: 150, stop: 180, stop_ms: 3_000, crash: 200, concurrency: 40 };
const crashes = Math.floor(plan.requests / plan.crash);
/** The concurrent tries of one endpoint: each disaster may lose the results of those in flight. */
const inFlight = 32;
const clients = 8;
/** The jobs left at the end, without the delivery pump, which never ends. */
const left = "select id, kind, state from jobs where kind not like 'service.%' and kind <> 'deliveries.pump'";
const environments = ["production", "staging", "preview"];

const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];

/** Within an environment, deployments start in creation order, one at a time. */
function checkOrder(begun: { id: string; place: string; event: string }[], cancelled: ReadonlySet<string>): void {
  const [last, running] = [new Map<string, string>(), new Map<string, string>()];
  for (const { id, place, event } of begun) {
    if (event === "deployment.started") {
      assert.ok(id > (last.get(place) ?? ""), `${id} began before an earlier one of ${place}`);
      last.set(place, id);
      assert.ok(!running.has(place), `two run in ${place}`);
      if (!cancelled.has(id)) running.set(place, id);
      assert.ok(running.size <= plan.concurrency);
    } else if (running.get(place) === id) running.delete(place);
  }
}

test(`${plan.requests} requests to three processes, through kills and stops of processes and kills of the database`, {
  timeout: 5_400_000,
}, async (t) => {
  const server = await startServer();
  const database = server.url("postgres");
  t.after(() => server.end());
  const receivers = await slowReceivers(t);
  const processes = await startProcesses(t, database, 3, {
    ...receivers.variables,
    SVC_RATE_LIMIT: "0",
    SVC_DEPLOYMENTS_CONCURRENCY: String(plan.concurrency),
  });
  const { call, lost } = createCaller(await roundRobin(t, processes), processes.key);
  const webhook = { url: receivers.url("hook"), events: ["project.created"] };
  assert.equal((await call("POST", "/v1/webhooks", webhook, "webhook")).status, 201);
  const stream = followEvents(t, processes);
  await stream.begun;

  const projects: string[] = [];
  const deployments: string[] = [];
  /** Sends request number `n`. Each change has an idempotency key, so that it may be resent. */
  const one = async (n: number) => {
    const key = `request ${n}`;
    const project_id = pick(projects, n);
    const deployment = pick(deployments, n * 7);
    const kind = n % 10;
    if (kind === 0 || project_id === undefined) {
      const { status, body } = await call("POST", "/v1/projects", { name: `project ${n}`, region: "eu-west-1" }, key);
      assert.equal(status, 201);
      projects.push(body.id);
    } else if (kind <= 3 || deployment === undefined) {
      const source = { type: "git", repo: "acme/web", branch: `request-${n}` };
      const order = { project_id, environment: pick(environments, n), source };
      const { status, body } = await call("POST", "/v1/deployments", order, key);
      assert.equal(status, 201, JSON.stringify(body));
      deployments.push(body.id);
    } else if (kind === 4) {
      const { status } = await call("POST", `/v1/deployments/${deployment}/cancel`, undefined, key);
      assert.ok(status === 200 || status === 409, String(status));
    } else if (kind === 5) {
      const { status } = await call("PUT", `/v1/projects/${project_id}`, { description: `by ${n}` });
      assert.equal(status, 200);
    } else {
      const path = kind < 8 ? `/v1/deployments/${deployment}` : "/v1/deployments?per_page=20";
      assert.equal((await call("GET", path)).status, 200);
    }
  };

  let sent = 0;
  let [kills, stops] = [0, 0];
  let disaster: Promise<void> = Promise.resolve();
  const after = (n: number) => {
    if (n % plan.crash === 0)
      disaster = disaster.then(() => {
        server.stop();
        server.start();
      });
    else if (n % plan.kill === 0) disaster = disaster.then(() => processes.kill(kills++ % 3));
    else if (n % plan.stop === 0)
      disaster = disaster.then(() => stopFor(processes.pids()[stops++ % 3] ?? 0, plan.stop_ms));
  };
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (sent < plan.requests) {
        const n = sent++;
        await one(n);
        after(n + 1);
      }
    }),
  );
  await disaster;
  assert.ok(kills >= 2 && stops >= 2);

  // All started work ends; that of killed processes ends a minute after their last lease renewal.
  for (const id of deployments) {
    await firstOf(async () => {
      const { body } = await call("GET", `/v1/deployments/${id}?wait=60`);
      return ["active", "failed", "cancelled"].includes(body.status) ? true : undefined;
    });
  }
  const client = new Client({ connectionString: database });
  await client.connect();
  t.after(() => client.end());
  const ask = async (text: string) => (await client.query(text)).rows;

  const events = (await ask("select id from events order by id")).map(({ id }) => id);
  await stream.until(events.at(-1));
  assert.deepEqual(stream.ids, events, "the stream has every event once, in the order of the commits");
  assert.deepEqual(await ask("select count(*)::int as n from projects"), [{ n: projects.length }]);
  // Each request for a deployment made exactly one.
  const made = await ask("select id, source::json->>'branch' as branch from deployments order by id");
  assert.deepEqual(made.map(({ id }) => id).sort(), [...deployments].sort());
  assert.equal(new Set(made.map(({ branch }) => branch)).size, made.length);
  const begun = await ask(`select data::json->>'deployment_id' as id, data::json->>'project_id' || ' ' ||
    (data::json->>'environment') as place, event from events where event like 'deployment.%' order by events.id`);
  // No event tells when a cancelled deployment ended.
  const cancelled = new Set((await ask("select id from deployments where status = 'cancelled'")).map(({ id }) => id));
  checkOrder(begun, cancelled);
  // The job that starts the next deployment ends after the last deployment, or at the end of its killed process's lease.
  await until(
    async () => (await ask(left)).length === 0,
    () => call("GET", "/v1/me"),
  );
  await receivers.until(projects.length);

  const { codes, errors } = await processes.stop();
  assert.deepEqual(codes, [0, 0, 0]);
  assert.doesNotMatch(errors, /failed unexpectedly|wrong-but-trusted/);
  const opened = await openPostgres(database, { isServer: false });
  t.after(() => opened.engine.close());
  assert.deepEqual(await opened.violations(new AbortController().signal), []);
  const again = receivers.doubled().length;
  assert.ok(again <= (kills + stops + crashes) * inFlight, `${again} of ${projects.length} deliveries came again`);
  t.diagnostic(`${lost()} answers were lost, ${kills} kills, ${stops} stops, ${again} deliveries came again`);
});
