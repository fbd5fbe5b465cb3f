import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { drainEventLoop } from "../helpers/engine.ts";
import { bearer } from "../helpers/headers.ts";
import { createCaller, type Processes, roundRobin, startProcesses } from "./processes.ts";
import { startServer } from "./server.ts";
import { slowReceivers, stopFor } from "./slow-receivers.ts";

/** `SVC_SERVER_DELIVERIES=100000 npm run test:postgres -- tries` is the full run. */
const wanted = Number(process.env["SVC_SERVER_DELIVERIES"] ?? "600");
const endpoints = wanted > 10_000 ? 20 : 3;
const clients = 8;

async function servers(t: TestContext, count: number, variables: object) {
  const server = await startServer();
  const database = server.url("postgres");
  const client = new Client({ connectionString: database });
  t.after(async () => {
    await client.end();
    server.end();
  });
  await client.connect();
  const start = (more: number) => startProcesses(t, database, more, { SVC_RATE_LIMIT: "0", ...variables });
  const ask = async (text: string) => (await client.query(text)).rows;
  return { start, processes: await start(count), ask };
}

/** Makes projects; the webhooks get their events. */
async function makeProjects(base: string, key: string, count: number): Promise<void> {
  const { call } = createCaller(base, key);
  let made = 0;
  const client = async () => {
    while (made < count) {
      const n = made++;
      const { status } = await call("POST", "/v1/projects", { name: `project ${n}`, region: "eu" }, `project ${n}`);
      assert.equal(status, 201);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}

async function register({ urls, key }: Processes, url: string) {
  const { call } = createCaller(urls()[0] ?? "", key);
  const { status, body } = await call("POST", "/v1/webhooks", { url, events: ["project.created"] });
  assert.equal(status, 201);
  return { call, path: `/v1/webhooks/${body.id}` };
}

const ended = "select status, tries, count(*)::int as n from deliveries group by status, tries order by tries";

test(`${wanted} deliveries through three servers, to receivers that take up to three seconds, have one try each`, {
  timeout: 3_600_000,
}, async (t) => {
  const receivers = await slowReceivers(t);
  const { processes, ask } = await servers(t, 3, receivers.variables);
  for (let i = 0; i < endpoints; i++) await register(processes, receivers.url(i));
  await makeProjects(await roundRobin(t, processes), processes.key, wanted / endpoints);
  await receivers.until(wanted);
  const { codes, errors } = await processes.stop();
  assert.deepEqual(codes, [0, 0, 0]);
  assert.doesNotMatch(errors, /"level":"error"/);
  assert.deepEqual(receivers.doubled(), []);
  assert.deepEqual(await ask(ended), [{ status: "succeeded", tries: 1, n: wanted }]);
  assert.deepEqual(await ask("select count(*)::int as n from delivery_attempts"), [{ n: wanted }]);
});

/** Sends a request on a kept connection; returns its status, or the message of its error. */
const statusOf = (agent: Agent, url: string, key: string) =>
  new Promise<number | string>((resolve) => {
    const sent = request(new URL("/v1/me", url), { agent, headers: bearer(key) }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", ({ message }) => resolve(message)).end();
  });

test("a server that was stopped for longer than its leases repeats nothing, and answers what waited in it", {
  timeout: 600_000,
}, async (t) => {
  const [deliveries, requests] = [750, 20];
  // Half of a try's limit: on a busy machine an answer comes seconds late.
  const receivers = await slowReceivers(t, 5_000);
  const { start, processes: first } = await servers(t, 1, receivers.variables);
  const [url = ""] = first.urls();
  const { call, path } = await register(first, receivers.url("hook"));
  assert.equal((await call("PATCH", path, { status: "inactive" })).status, 200);
  await makeProjects(url, first.key, deliveries);
  const agent = new Agent({ keepAlive: true, maxSockets: requests });
  t.after(() => agent.destroy());
  const ask20 = () => Promise.all(Array.from({ length: requests }, () => statusOf(agent, url, first.key)));
  assert.deepEqual(new Set(await ask20()), new Set([200]));
  const second = await start(1);
  // All deliveries are due at once, and the first server sends them. The other server is idle.
  assert.equal((await call("PATCH", path, { status: "active" })).status, 200);
  const since = "2026-01-01T00:00:00Z";
  assert.equal((await call("POST", `${path}/recover`, { since })).body.queued, deliveries);
  await receivers.until(40);
  const stopped = stopFor(first.pids()[0] ?? 0, 70_000);
  // Receives what the server had sent before.
  await drainEventLoop(async () => {});
  const before = new Set(receivers.tries.keys());
  const answers = ask20();
  await stopped;
  assert.ok(receivers.tries.size < deliveries, "the other server is at work");
  for (const answer of await answers) assert.ok(answer === 200 || answer === 503, String(answer));
  await receivers.until(deliveries);
  const ends = [await first.stop(), await second.stop()];
  assert.deepEqual(
    ends.flatMap(({ codes }) => codes),
    [0, 0],
  );
  // The other server had to treat the deliveries in flight as lost.
  const doubled = receivers.doubled();
  t.diagnostic(`${doubled.length} deliveries were on their way when the server stopped`);
  assert.ok(doubled.length <= 32, String(doubled.length));
  assert.deepEqual(
    doubled.filter((id) => !before.has(id)),
    [],
  );
});
