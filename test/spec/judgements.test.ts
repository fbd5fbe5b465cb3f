import assert from "node:assert/strict";
import { test } from "node:test";
import { withSnapshots } from "../helpers/engine.ts";
import { expect, git, world } from "../helpers/test-service.ts";

const hook = { url: "https://hook.inbox.test/in", events: ["project.created"] };
const fails = new Array(18).fill(500);

test("deliveries that fail side by side are each abandoned after their sixth try", async (t) => {
  const here = await world(t);
  here.service.inbox.script("hook", fails);
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  for (const name of ["one", "two", "three"])
    expect(await here.call("owner", "POST", "/v1/projects", { name, region: "eu" }), 201);
  await here.service.clock.advance("3h");
  const { data } = expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200);
  assert.deepEqual(
    data.map(({ status, attempts }: { status: string; attempts: object[] }) => [status, attempts.length]),
    new Array(3).fill(["abandoned", 6]),
  );
});

test("a monitoring key that nobody can read is not sent to another site", async (t) => {
  const here = await world(t);
  const create = { type: "monitoring", config: { api_key: "key_demo", site: "datadoghq.eu" } };
  const { id } = expect(await here.call("owner", "POST", "/v1/integrations", create), 201);
  const path = `/v1/integrations/${id}`;
  const { status, body } = await here.call("developer", "PATCH", path, { config: { site: "evil.example.com" } });
  assert.deepEqual([status, body.error.details[0].path], [422, "config.api_key"]);
  expect(await here.call("developer", "PATCH", path, { config: { site: "datadoghq.eu", service: "web" } }), 200);
  expect(await here.call("developer", "PATCH", path, { config: { site: "datadoghq.com", api_key: "key_new" } }), 200);
});

test("a test reaches an endpoint that is turned off; a code host is sent nothing", async (t) => {
  const here = await world(t);
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  expect(await here.call("owner", "PATCH", `/v1/webhooks/${id}`, { status: "inactive" }), 200);
  assert.equal(expect(await here.call("owner", "POST", `/v1/webhooks/${id}/test`), 202).status, "pending");
  await here.service.settle();
  assert.equal(here.service.inbox.list().length, 1);
  const config = { repo: "acme/web", branch: "main", environment: "production" };
  const codeHost = expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201);
  const { body } = await here.call("owner", "POST", `/v1/integrations/${codeHost.id}/test`);
  assert.deepEqual([body.error.code, body.error.details[0].path], ["validation_failed", "type"]);
});

test("what a driver threw stays in the log", async (t) => {
  const step = () => Promise.reject(new Error("ENOENT: /srv/secret token=abc"));
  const here = await world(t, { deployments: { driver: { delay: () => 0, step } } });
  const project_id = (await here.project()).id;
  const order = { project_id, environment: "production", source: git };
  const { id } = expect(await here.call("owner", "POST", "/v1/deployments", order), 201);
  await here.service.clock.advance("1h");
  assert.equal(expect(await here.call("owner", "GET", `/v1/deployments/${id}`), 200).status, "failed");
  const { text } = await here.call("owner", "GET", `/v1/deployments/${id}/logs`);
  assert.ok(!text.includes("secret") && text.includes("failed unexpectedly"), text);
});

test("a rollback is told before the deployment that it makes", async (t) => {
  const here = await world(t);
  const project_id = (await here.project()).id;
  const order = { project_id, environment: "production", source: git };
  let last = "";
  for (let i = 0; i < 2; i++) {
    last = expect(await here.call("owner", "POST", "/v1/deployments", order), 201).id;
    await here.service.clock.advance("10s");
  }
  expect(await here.call("owner", "POST", `/v1/deployments/${last}/rollback`), 201);
  const { data } = expect(await here.call("owner", "GET", "/v1/events?per_page=2"), 200);
  assert.deepEqual(
    data.map(({ event }: { event: string }) => event),
    ["deployment.queued", "deployment.rolled_back"],
  );
});

test("the control interface answers nobody who comes through a proxy", async (t) => {
  const here = await world(t);
  const { url } = await here.service.listen();
  const forwarded = { "x-forwarded-for": "203.0.113.9" };
  assert.equal((await fetch(`${url}/_svc/clock`, { headers: forwarded })).status, 404);
  assert.equal((await fetch(`${url}/_svc/clock`)).status, 200);
});

test("the hundred newest snapshots are kept, and no identifier comes twice", withSnapshots, async (t) => {
  const here = await world(t);
  const ids: string[] = [];
  for (let i = 0; i < 102; i++) ids.push((await here.service.snapshot()).id);
  assert.equal(new Set(ids).size, 102);
  await assert.rejects(here.service.restore(ids[1] ?? ""), { code: "not_found" });
  await here.service.restore(ids[2] ?? "");
});

test("a success before the event, in the same instant, does not keep an endpoint on", async (t) => {
  const here = await world(t);
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  expect(await here.call("owner", "POST", `/v1/webhooks/${id}/test`), 202);
  await here.service.settle();
  here.service.inbox.script("hook", fails);
  await here.project();
  await here.service.clock.advance("3h");
  assert.equal(expect(await here.call("owner", "GET", `/v1/webhooks/${id}`), 200).status, "inactive");
});
