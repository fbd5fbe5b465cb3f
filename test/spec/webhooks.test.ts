import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { onSqlite } from "../helpers/engine.ts";
import { check, expect, git, type World, world } from "../helpers/test-service.ts";
import { start } from "../helpers/webhook-receiver.ts";

const hook = { url: "https://hook.inbox.test/in", events: ["*"] } as const;

/** A webhook whose receiver answers these statuses in order, then 200; and the requests it received. */
async function receiver(here: World, statuses: number[] = [], more: object = {}) {
  const requests: { headers: Headers; body: string }[] = [];
  here.service.webhooks.sink("hook", async (request) => {
    requests.push({ headers: request.headers, body: await request.text() });
    return new Response("seen", { status: statuses.shift() ?? 200 });
  });
  const webhook = expect(await here.call("owner", "POST", "/v1/webhooks", { ...hook, ...more }), 201);
  return { webhook, requests };
}

const deliveriesOf = async (here: World, id: string) =>
  expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data;

test("POST /webhooks", async (t) => {
  await check(t, {
    name: "registers an active webhook and never shows its secret",
    as: "developer",
    when: ["POST", "/v1/webhooks"],
    body: { ...hook, events: ["project.created", "project.created"], secret: "whsec_demo" },
    then: 201,
    and: ({ url, events, status, secret }, { headers, text }) => {
      assert.deepEqual([url, events, status, secret], [hook.url, ["project.created"], "active", undefined]);
      assert.match(headers.get("location") ?? "", /^\/v1\/webhooks\/wh_/);
      assert.ok(!text.includes("whsec_demo"));
    },
  });
  const refused: [string, object, string][] = [
    ["plain HTTP", { url: "http://example.com" }, "url"],
    ["a port that is none", { url: "https://example.com:0/" }, "url"],
    ["credentials in the URL", { url: "https://a:b@example.com" }, "url"],
    ["a URL of more than 2,048 characters", { url: `https://example.com/${"x".repeat(2048)}` }, "url"],
    ["an empty list of events", { events: [] }, "events"],
    ["an unknown event", { events: ["project.created", "nonsense"] }, "events.1"],
    ["an empty secret", { secret: "" }, "secret"],
    ["a secret of 257 characters", { secret: "x".repeat(257) }, "secret"],
  ];
  for (const [name, wrong, path] of refused) {
    await check(t, {
      name: `refuses ${name}`,
      as: "owner",
      when: ["POST", "/v1/webhooks"],
      body: { ...hook, ...wrong },
      then: [422, "validation_failed"],
      and: ({ error }) => assert.equal(error.details[0].path, path),
    });
  }
});

test("an organization has at most 100 webhooks", async (t) => {
  const here = await world(t);
  for (let i = 0; i < 100; i++) expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  const { status, body } = await here.call("owner", "POST", "/v1/webhooks", hook);
  assert.deepEqual([status, body.error.code], [409, "limit_reached"]);
});

test("a delivery has exactly event, timestamp and data, with its headers, signed over the raw body", async (t) => {
  const here = await world(t);
  const { requests } = await receiver(here, [], { secret: "whsec_demo" });
  const project = await here.project("wëb ✓");
  await here.service.settle();
  const [{ headers, body }] = requests as [{ headers: Headers; body: string }];
  assert.deepEqual(JSON.parse(body), {
    event: "project.created",
    timestamp: "2026-01-01T00:00:00.000Z",
    data: { project_id: project.id, name: "wëb ✓", region: "eu-west-1" },
  });
  assert.equal(headers.get("content-type"), "application/json");
  assert.match(headers.get("user-agent") ?? "", /^svc-server\/\d/);
  assert.equal(headers.get("x-service-event"), "project.created");
  assert.match(headers.get("x-service-delivery") ?? "", /^dlv_/);
  assert.equal(headers.get("x-service-attempt"), "1");
  const digest = createHmac("sha256", "whsec_demo").update(body).digest("hex");
  assert.equal(headers.get("x-service-signature"), `sha256=${digest}`);
});

test("a webhook without a secret is not signed, and receives only the events it subscribes to", async (t) => {
  const here = await world(t);
  const { requests } = await receiver(here, [], { events: ["deployment.queued", "deployment.succeeded"] });
  const { id } = await here.project();
  await here.deploy(id);
  await here.service.clock.advance("1m");
  const seen = requests.map(({ headers }) => headers.get("x-service-event"));
  assert.deepEqual(seen, ["deployment.queued", "deployment.succeeded"]);
  assert.ok(requests.every(({ headers }) => headers.get("x-service-signature") === null));
});

test("a failed delivery is retried after 30 s, 2 min, 10 min, 30 min and 2 h with the same bytes, then abandoned", async (t) => {
  const here = await world(t);
  const { webhook, requests } = await receiver(here, [500, 302, 404, 199 + 201, 503, 500]);
  await here.project();
  await here.service.clock.advance("2h42m29s");
  assert.equal(requests.length, 5);
  await here.service.clock.advance("1s");
  assert.equal(requests.length, 6);
  assert.deepEqual(
    requests.map(({ headers }) => headers.get("x-service-attempt")),
    ["1", "2", "3", "4", "5", "6"],
  );
  assert.equal(new Set(requests.map(({ headers, body }) => headers.get("x-service-delivery") + body)).size, 1);
  const [delivery] = await deliveriesOf(here, webhook.id);
  assert.deepEqual([delivery.status, delivery.next_attempt_at], ["abandoned", null]);
  const at = delivery.attempts.map(
    (attempt: { at: string }) => Date.parse(attempt.at) - Date.parse(delivery.created_at),
  );
  assert.deepEqual(at, [0, 30_000, 150_000, 750_000, 2_550_000, 9_750_000]);
  assert.deepEqual(delivery.attempts[0], {
    ...delivery.attempts[0],
    status: 500,
    error: null,
    response: "seen",
    number: 1,
  });
  assert.equal(expect(await here.call("owner", "GET", `/v1/webhooks/${webhook.id}`), 200).status, "inactive");
});

test("an abandoned delivery does not turn off a webhook that had a success since", async (t) => {
  const here = await world(t);
  const { webhook } = await receiver(here, [500, 200, 500, 500, 500, 500, 500]);
  await here.project("one");
  await here.service.settle();
  await here.project("two");
  await here.service.clock.advance("3h");
  const states = (await deliveriesOf(here, webhook.id)).map(({ status }: { status: string }) => status);
  assert.deepEqual(states, ["succeeded", "abandoned"]);
  assert.equal(expect(await here.call("owner", "GET", `/v1/webhooks/${webhook.id}`), 200).status, "active");
});

test("an inactive webhook skips events, and they can be recovered once it is active again", async (t) => {
  const here = await world(t);
  const { webhook, requests } = await receiver(here);
  const path = `/v1/webhooks/${webhook.id}`;
  expect(await here.call("owner", "PATCH", path, { status: "inactive" }), 200);
  await here.project();
  await here.service.settle();
  assert.equal(requests.length, 0);
  assert.equal((await deliveriesOf(here, webhook.id))[0].status, "skipped");
  assert.equal(expect(await here.call("owner", "PATCH", path, { status: "active" }), 200).status, "active");
  assert.equal(
    expect(await here.call("owner", "POST", `${path}/recover`, { since: "2026-01-01T00:00:00Z" }), 202).queued,
    1,
  );
  await here.service.settle();
  assert.equal(requests.length, 1);
  assert.equal((await deliveriesOf(here, webhook.id))[0].status, "succeeded");
});

test("a redelivery is one more attempt with the next number, and leaves the retry schedule as it is", async (t) => {
  const here = await world(t);
  const { webhook, requests } = await receiver(here, [500, 500, 500, 500, 500, 500, 500]);
  await here.project();
  await here.service.clock.advance("3h");
  const [delivery] = await deliveriesOf(here, webhook.id);
  const path = `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}/redeliver`;
  expect(await here.call("owner", "POST", path), 202);
  await here.service.clock.advance("3h");
  expect(await here.call("owner", "POST", path), 202);
  await here.service.settle();
  assert.deepEqual(
    requests.slice(6).map(({ headers }) => headers.get("x-service-attempt")),
    ["7", "8"],
  );
  const [after] = await deliveriesOf(here, webhook.id);
  assert.deepEqual([after.status, after.attempts.length], ["succeeded", 8]);
});

test("deleting a webhook stops its pending deliveries", async (t) => {
  const here = await world(t);
  const { webhook, requests } = await receiver(here, [500]);
  await here.project();
  await here.service.settle();
  assert.equal((await here.call("owner", "DELETE", `/v1/webhooks/${webhook.id}`)).status, 204);
  await here.service.clock.advance("3h");
  assert.equal(requests.length, 1);
  assert.equal((await here.call("owner", "GET", `/v1/webhooks/${webhook.id}`)).status, 404);
});

test("a ping goes to one webhook alone, and is not an event of the organization", async (t) => {
  const here = await world(t);
  const { webhook, requests } = await receiver(here, [], { events: ["project.deleted"] });
  expect(await here.call("owner", "POST", `/v1/webhooks/${webhook.id}/test`), 202);
  await here.service.settle();
  assert.deepEqual(JSON.parse(requests[0]?.body ?? "").data, { webhook_id: webhook.id });
  assert.deepEqual(await here.events(), []);
});

test("a slow or failing webhook does not delay another one", async (t) => {
  const here = await world(t);
  const { requests } = await receiver(here);
  here.service.webhooks.sink("broken", () => Promise.reject(new Error("no answer")));
  const broken = expect(
    await here.call("owner", "POST", "/v1/webhooks", { ...hook, url: "https://broken.inbox.test/" }),
    201,
  );
  await here.deploy((await here.project()).id, { source: git });
  await here.service.clock.advance("10s");
  assert.equal(requests.length, 4);
  const [delivery] = await deliveriesOf(here, broken.id);
  assert.deepEqual(
    [delivery.status, delivery.attempts[0].status, delivery.attempts[0].error],
    ["pending", null, 'the sink "broken" threw Error: no answer'],
  );
});

test("deleting a webhook aborts its requests", async (t) => {
  const here = await world(t);
  let began = () => {};
  const begun = new Promise<void>((resolve) => {
    began = resolve;
  });
  here.service.webhooks.sink("hook", () => {
    began();
    return new Promise(() => {});
  });
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  await here.project();
  const settled = Promise.all([here.service.settle()]);
  await begun;
  assert.equal((await here.call("owner", "DELETE", `/v1/webhooks/${id}`)).status, 204);
  await settled;
  assert.equal((await here.call("owner", "GET", `/v1/webhooks/${id}`)).status, 404);
});

const ownCommit = onSqlite("each transaction of PostgreSQL has a commit of its own");
test("a redelivery counted in the same commit as the deletion is not sent", ownCommit, async (t) => {
  const there = await start();
  t.after(there.close);
  const here = await world(t);
  const url = there.url.replace("localhost", "127.0.0.1");
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", { ...hook, url }), 201);
  const ping = expect(await here.call("owner", "POST", `/v1/webhooks/${id}/test`), 202);
  await here.service.settle();
  assert.equal(there.requests.length, 1);
  const redelivered = here.service.webhooks.deliver([ping.id]).catch(() => {});
  expect(await here.call("owner", "DELETE", `/v1/webhooks/${id}`), 204);
  await redelivered;
  assert.equal(there.requests.length, 1);
});
