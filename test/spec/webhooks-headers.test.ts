import assert from "node:assert/strict";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { verifySignature, verifyStandardWebhook } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const url = "https://hook.inbox.test/in";
const hook = { url, events: ["*"] };
const make = async ({ call }: World, more: object = {}) =>
  expect(await call("owner", "POST", "/v1/webhooks", { ...hook, ...more }), 201);
const change = ({ call }: World, { id }: { id: string }, body: object) =>
  call("owner", "PATCH", `/v1/webhooks/${id}`, body);

/** Every request that the hook receives, with its body. */
function listen({ service }: World) {
  const requests: { headers: Headers; body: string }[] = [];
  service.webhooks.sink("hook", async (request) => {
    requests.push({ headers: request.headers, body: await request.text() });
    return new Response("ok");
  });
  return requests;
}

async function tested(here: World, kind: string, { id }: { id: string }, requests: ReturnType<typeof listen>) {
  expect(await here.call("owner", "POST", `/v1/${kind}/${id}/test`), 202);
  await here.service.settle();
  const last = requests.at(-1);
  assert.ok(last);
  return last;
}

test("While two secrets overlap, both sign; then the new one alone", async (t) => {
  const here = await world(t);
  const requests = listen(here);
  const webhook = await make(here, { secret: "old-secret" });
  const changed = expect(await change(here, webhook, { secret: "new-secret", keep_previous_for: "24h" }), 200);
  assert.ok(!JSON.stringify(changed).includes("secret"));
  const during = await tested(here, "webhooks", webhook, requests);
  const sign = (name: string) => during.headers.get(`x-service-signature${name}`);
  assert.ok(verifySignature("new-secret", during.body, sign("")));
  assert.ok(verifySignature("old-secret", during.body, sign("-previous")));
  const now = here.service.clock.now();
  for (const secret of ["new-secret", "old-secret"])
    assert.ok(verifyStandardWebhook(secret, during.body, during.headers, { now }));
  assert.equal(during.headers.get("webhook-signature")?.split(" ").length, 2);
  t.mock.method(Date, "now", () => now.getTime());
  for (const secret of ["new-secret", "old-secret"])
    new Webhook(secret, { format: "raw" }).verify(during.body, Object.fromEntries(during.headers));
  const other = expect(await change(here, webhook, { status: "active" }), 200);
  assert.equal(other.status, "active");
  await here.service.clock.advance("23h59m59s");
  assert.ok((await tested(here, "webhooks", webhook, requests)).headers.get("x-service-signature-previous"));
  await here.service.clock.advance("1s");
  const after = await tested(here, "webhooks", webhook, requests);
  assert.equal(after.headers.get("x-service-signature-previous"), null);
  assert.equal(after.headers.get("webhook-signature")?.split(" ").length, 1);
});

test("The same new secret again lets the overlap begin again, and one that is over stays over", async (t) => {
  const here = await world(t);
  const requests = listen(here);
  const webhook = await make(here, { secret: "old-secret" });
  const again = async () => {
    expect(await change(here, webhook, { secret: "new-secret", keep_previous_for: "24h" }), 200);
    const { body, headers } = await tested(here, "webhooks", webhook, requests);
    return { body, previous: headers.get("x-service-signature-previous") };
  };
  await again();
  await here.service.clock.advance("23h");
  const second = await again();
  assert.ok(verifySignature("old-secret", second.body, second.previous));
  await here.service.clock.advance("23h");
  assert.ok((await again()).previous);
  await here.service.clock.advance("24h");
  assert.equal((await again()).previous, null);
});

test("A new secret without an overlap, and no secret, end the one before at once", async (t) => {
  const here = await world(t);
  const requests = listen(here);
  const webhook = await make(here, { secret: "first" });
  expect(await change(here, webhook, { secret: "second", keep_previous_for: "7d" }), 200);
  expect(await change(here, webhook, { secret: "third" }), 200);
  const third = await tested(here, "webhooks", webhook, requests);
  assert.equal(third.headers.get("x-service-signature-previous"), null);
  expect(await change(here, webhook, { secret: null }), 200);
  assert.equal((await tested(here, "webhooks", webhook, requests)).headers.get("x-service-signature"), null);
});

test("keep_previous_for needs a secret, and a time of at most 7 days", async (t) => {
  const here = await world(t);
  const webhook = await make(here, { secret: "first" });
  const body = { secret: "second" };
  for (const keep_previous_for of ["0", "0s", "8d", "7d1ms", "soon", 5, null])
    assert.deepEqual(pathsOf(expect(await change(here, webhook, { ...body, keep_previous_for }), 422)), [
      "keep_previous_for",
    ]);
  for (const more of [{}, { secret: null }])
    assert.deepEqual(pathsOf(expect(await change(here, webhook, { ...more, keep_previous_for: "1h" }), 422)), [
      "keep_previous_for",
    ]);
});

test("Headers go with every attempt, and no answer shows a value", async (t) => {
  const here = await world(t);
  const requests = listen(here);
  const headers = { Authorization: "Bearer value-of-mine", "X-Tenant": "42 a" };
  const webhook = await make(here, { headers });
  const shown = { Authorization: "[redacted]", "X-Tenant": "[redacted]" };
  assert.deepEqual(webhook.headers, shown);
  const { headers: sent } = await tested(here, "webhooks", webhook, requests);
  assert.deepEqual([sent.get("authorization"), sent.get("x-tenant")], ["Bearer value-of-mine", "42 a"]);
  const path = `/v1/webhooks/${webhook.id}/deliveries`;
  const { data } = expect(await here.call("owner", "GET", path), 200);
  const detail = expect(await here.call("owner", "GET", `${path}/${data[0].id}`), 200);
  assert.deepEqual(
    [detail.request.headers.Authorization, detail.request.headers["X-Tenant"]],
    Array(2).fill("[redacted]"),
  );
  expect(await here.call("owner", "POST", `${path}/${data[0].id}/redeliver`), 202);
  await here.service.settle();
  assert.equal(requests.length, 2);
  assert.equal(requests[1]?.headers.get("authorization"), "Bearer value-of-mine");
  const listed = expect(await here.call("viewer", "GET", "/v1/webhooks"), 200);
  assert.deepEqual(listed.data[0].headers, shown);

  const kept = expect(await change(here, webhook, { headers: { "x-tenant": "[redacted]", "X-New": "1" } }), 200);
  assert.deepEqual(kept.headers, { "x-tenant": "[redacted]", "X-New": "[redacted]" });
  const later = await tested(here, "webhooks", webhook, requests);
  assert.deepEqual(
    ["authorization", "x-tenant", "x-new"].map((name) => later.headers.get(name)),
    [null, "42 a", "1"],
  );
  assert.equal(expect(await change(here, webhook, { headers: null }), 200).headers, undefined);
});

test("Stored values do not follow the URL to another origin", async (t) => {
  const here = await world(t);
  const webhook = await make(here, { headers: { "X-Token": "mine" } });
  const moved = { url: "https://other.inbox.test/in" };
  for (const more of [{}, { headers: { "x-token": "[redacted]" } }])
    assert.match(
      pathsOf(expect(await change(here, webhook, { ...moved, ...more }), 422))[0] ?? "",
      /^headers\.x-token$/i,
    );
  expect(await change(here, webhook, { url: `${url}/deeper` }), 200);
  expect(await change(here, webhook, { ...moved, headers: { "X-Token": "theirs" } }), 200);
});

test("Wrong headers are refused, and nothing is stored", async (t) => {
  const here = await world(t);
  const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`X-${i}`, "1"]));
  for (const headers of [
    ...["Host", "content-length", "Transfer-Encoding", "Connection", "Content-Type", "User-Agent", "X-Service-Event"],
    ...["webhook-id", "X_Y", "X Y", "X:", "", "x".repeat(65), "Ä"],
  ].map((name) => ({ [name]: "1" })))
    expect(await here.call("owner", "POST", "/v1/webhooks", { ...hook, headers }), 422);
  for (const value of ["a\r\nX-Evil: 1", "a\nb", "", " a", "a ", "é", "\u0000", "x".repeat(1025), 1, null, ["a"]])
    expect(await here.call("owner", "POST", "/v1/webhooks", { ...hook, headers: { "X-A": value } }), 422);
  for (const headers of [eleven, { "X-A": "1", "x-a": "2" }, "X-A: 1", []])
    assert.deepEqual(pathsOf(expect(await here.call("owner", "POST", "/v1/webhooks", { ...hook, headers }), 422)), [
      "headers",
    ]);
  assert.deepEqual(expect(await here.call("owner", "GET", "/v1/webhooks"), 200).data, []);
});

test("Custom integrations have headers too", async (t) => {
  const here = await world(t);
  const requests = listen(here);
  const create = (config: object) => here.call("owner", "POST", "/v1/integrations", { type: "custom", config });
  expect(await create({ url, headers: { Host: "a" } }), 422);
  const made = expect(await create({ url, headers: { "X-A": "one", "X-B": "two" }, secret: "hush" }), 201);
  assert.deepEqual(made.config.headers, { "X-A": "[redacted]", "X-B": "[redacted]" });
  const update = (config: object) => here.call("owner", "PATCH", `/v1/integrations/${made.id}`, { config });
  expect(await update({ events: ["project.created"] }), 200);
  const first = await tested(here, "integrations", made, requests);
  assert.deepEqual([first.headers.get("x-a"), first.headers.get("x-b")], ["one", "two"]);
  expect(await update({ headers: { "X-B": "[redacted]" } }), 200);
  const second = await tested(here, "integrations", made, requests);
  assert.deepEqual([second.headers.get("x-a"), second.headers.get("x-b")], [null, "two"]);
  assert.deepEqual(pathsOf(expect(await update({ url: "https://other.inbox.test/" }), 422)), ["config.headers.X-B"]);
  assert.equal(expect(await update({ headers: null }), 200).config.headers, undefined);
});
