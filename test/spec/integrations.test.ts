import assert from "node:assert/strict";
import { test } from "node:test";
import { createService, verifySignature } from "../../lib/index.ts";
import { check, expect, seed, type World, world } from "../helpers/test-service.ts";

const configs = {
  chat: { webhook_url: "https://chat.inbox.test/services/T0/B0/secret-path", channel: "#deploys" },
  custom: { url: "https://custom.inbox.test/in", secret: "whsec_demo" },
  monitoring: { api_key: "dd_demo_key", site: "example.org", service: "shop" },
  code_host: { repo: "acme/web", branch: "main", environment: "production", secret: "whsec_demo" },
} as const;

const shown = {
  chat: ["#deploys", { channel: "#deploys", webhook_url: "https://chat.inbox.test/[redacted]", events: ["*"] }],
  custom: ["custom.inbox.test", { url: "https://custom.inbox.test/in", secret: "[redacted]", events: ["*"] }],
  monitoring: ["example.org (shop)", { site: "example.org", service: "shop", api_key: "[redacted]" }],
  code_host: [
    "acme/web (main → production)",
    { repo: "acme/web", branch: "main", environment: "production", secret: "[redacted]" },
  ],
} as const;

/** A transport that records every request and answers 202. */
function recorder() {
  const sent: { url: string; headers: Headers; body: string }[] = [];
  const transport = async (request: Request) => {
    sent.push({ url: request.url, headers: request.headers, body: await request.text() });
    return new Response(null, { status: 202 });
  };
  return { sent, transport };
}

const connect = async (here: World, type: keyof typeof configs) =>
  expect(await here.call("owner", "POST", "/v1/integrations", { type, config: configs[type] }), 201);

for (const type of ["chat", "custom", "monitoring", "code_host"] as const) {
  test(`a ${type} integration shows its configuration with its secrets redacted, and not in lists`, async (t) => {
    const here = await world(t, { transport: recorder().transport });
    const made = await connect(here, type);
    const [name, config] = shown[type];
    assert.deepEqual([made.name, made.config, made.status, made.type], [name, config, "active", type]);
    const one = await here.call("viewer", "GET", `/v1/integrations/${made.id}`);
    assert.deepEqual(expect(one, 200).config, config);
    const list = await here.call("viewer", "GET", "/v1/integrations");
    assert.equal(expect(list, 200).data[0].config, undefined);
    for (const { text } of [one, list]) assert.doesNotMatch(text, /whsec_demo|dd_demo_key|secret-path/);
    assert.equal((await here.call("developer", "DELETE", `/v1/integrations/${made.id}`)).status, 204);
    assert.equal((await here.call("owner", "GET", `/v1/integrations/${made.id}`)).status, 404);
  });
}

test("each type has required fields, and nothing of an invalid configuration is stored", async (t) => {
  const needed = {
    chat: ["webhook_url"],
    custom: ["url"],
    monitoring: ["api_key", "site"],
    code_host: ["repo", "branch", "environment"],
  };
  for (const [type, fields] of Object.entries(needed)) {
    await check(t, {
      name: `a ${type} integration without its fields`,
      as: "owner",
      when: ["POST", "/v1/integrations"],
      body: { type, config: {} },
      then: [422, "validation_failed"],
      and: async ({ error }, _reply, here) => {
        const paths = error.details.map(({ path }: { path: string }) => path);
        assert.deepEqual(
          paths,
          fields.map((field) => `config.${field}`),
        );
        assert.deepEqual(expect(await here.call("owner", "GET", "/v1/integrations"), 200).data, []);
      },
    });
  }
});

test("monitoring needs the plan pro or enterprise, which is checked before the configuration", async (t) => {
  await check(t, {
    name: "on the entry plan",
    as: "stranger",
    when: ["POST", "/v1/integrations"],
    body: { type: "monitoring", config: {} },
    then: [403, "plan_required"],
  });
  await check(t, {
    name: "before an Idempotency-Key outside its limits, too",
    as: "stranger",
    when: ["POST", "/v1/integrations"],
    headers: { "idempotency-key": "x".repeat(256) },
    body: { type: "monitoring", config: 5 },
    then: [403, "plan_required"],
  });
});

test("monitoring receives events and the metrics of a finished deployment, and nothing else", async (t) => {
  const { sent, transport } = recorder();
  const here = await world(t, { transport });
  await connect(here, "monitoring");
  await here.deploy((await here.project()).id);
  await here.service.clock.advance("10s");
  assert.ok(sent.every(({ headers }) => headers.get("dd-api-key") === "dd_demo_key"));
  const paths = sent.map(({ url }) => url);
  assert.equal(paths.filter((url) => url === "https://api.example.org/api/v1/events").length, 4);
  const series = sent.find(({ url }) => url === "https://api.example.org/api/v2/series");
  const [duration, count] = JSON.parse(series?.body ?? "{}").series;
  assert.deepEqual([duration.metric, duration.points[0].value], ["svc.deployment.duration", 6]);
  assert.ok(count.tags.includes("outcome:success"));
  assert.deepEqual([paths.length, new Set(paths).size], [5, 2]);
});

test("a seed creates webhooks and integrations", async (t) => {
  const [acme, globex] = seed.organizations as [(typeof seed.organizations)[0], (typeof seed.organizations)[1]];
  const integrations = [{ type: "custom" as const, config: configs.custom, status: "inactive" as const }];
  const webhooks = [{ url: "https://hook.inbox.test/", events: ["*" as const], secret: "whsec_demo" }];
  const here = await world(t, { seed: { organizations: [{ ...acme, integrations, webhooks }, globex] } });
  assert.equal(expect(await here.call("owner", "GET", "/v1/webhooks"), 200).data.length, 1);
  assert.equal(expect(await here.call("owner", "GET", "/v1/integrations"), 200).data[0].status, "inactive");
});

test("a secret sent back redacted stays as it was", async (t) => {
  const here = await world(t, { transport: recorder().transport });
  const made = await connect(here, "custom");
  const path = `/v1/integrations/${made.id}`;
  const config = { ...made.config, url: "https://custom.inbox.test/other" };
  assert.equal(expect(await here.call("owner", "PATCH", path, { config }), 200).config.secret, "[redacted]");
  const { sent, transport } = recorder();
  here.service.webhooks.sink("custom", transport);
  await here.project();
  await here.service.settle();
  const [{ url, headers, body }] = sent as [(typeof sent)[0]];
  assert.equal(url, "https://custom.inbox.test/other");
  assert.ok(verifySignature("whsec_demo", body, headers.get("x-service-signature")));
  assert.equal(
    expect(await here.call("owner", "PATCH", path, { config: { url, secret: null } }), 200).config.secret,
    undefined,
  );
});

test("a monitoring key sent back redacted never goes to another site, and keeps its value", async (t) => {
  const { sent, transport } = recorder();
  const here = await world(t, { transport });
  const { id, config } = await connect(here, "monitoring");
  const change = (more: object) =>
    here.call("owner", "PATCH", `/v1/integrations/${id}`, { config: { ...config, ...more } });
  for (const more of [{ site: "elsewhere.example" }, { site: "elsewhere.example", api_key: undefined }]) {
    const { status, body } = await change(more);
    assert.deepEqual([status, body.error.message], [422, "config.api_key is required"]);
  }
  expect(await change({ service: "cart" }), 200);
  expect(await here.call("owner", "POST", `/v1/integrations/${id}/test`), 202);
  await here.service.settle();
  assert.deepEqual(
    sent.map(({ headers }) => headers.get("dd-api-key")),
    [configs.monitoring.api_key],
  );
});

test("a change without the secret does not undo a concurrent change of the secret", async (t) => {
  const { sent, transport } = recorder();
  const here = await world(t, { transport });
  const { id } = await connect(here, "custom");
  const change = (config: object) => here.call("owner", "PATCH", `/v1/integrations/${id}`, { config });
  const url = "https://elsewhere.example/in";
  const answers = await Promise.all([change({ url, secret: "whsec_rotated" }), change({ url })]);
  for (const answer of answers) expect(answer, 200);
  expect(await here.call("owner", "POST", `/v1/integrations/${id}/test`), 202);
  await here.service.settle();
  const [{ headers, body }] = sent as [(typeof sent)[0]];
  assert.equal(verifySignature("whsec_rotated", body, headers.get("x-service-signature")), true);
});

test("a secret that a receiver echoes is not stored", async (t) => {
  const here = await world(t);
  here.service.webhooks.sink(
    "chat",
    (request) => new Response(`Cannot POST ${new URL(request.url).pathname}`, { status: 404 }),
  );
  const { id } = await connect(here, "chat");
  await here.project();
  await here.service.settle();
  const { text } = await here.call("owner", "GET", `/v1/integrations/${id}/deliveries`);
  assert.match(text, /Cannot POST \[redacted\]/);
  assert.doesNotMatch(text, /secret-path/);
});

test("of a secret that the end of the stored response cuts, no part is stored", async (t) => {
  const here = await world(t);
  let before = 0;
  here.service.webhooks.sink(
    "chat",
    ({ url }) => new Response("é".repeat(500) + "x".repeat(before++) + new URL(url).pathname),
  );
  const { id } = await connect(here, "chat");
  for (let cut = 0; cut < 24; cut++) await here.call("owner", "POST", `/v1/integrations/${id}/test`);
  await here.service.settle();
  const { body } = await here.call("owner", "GET", `/v1/integrations/${id}/deliveries?per_page=100`);
  const tails = body.data.map(({ attempts: [{ response }] }: { attempts: [{ response: string }] }) =>
    response.slice(500),
  );
  assert.equal(tails.length, 24);
  // A rest of up to three characters may stay: such fragments occur everywhere.
  for (const tail of tails) assert.match(tail, /^x*(\[redacted\]|\/?s?e?)$/);
});

test("a seed's integration is checked by the rules of its type, and the error names its place", async () => {
  const acme = { name: "acme", integrations: [{ type: "custom" as const, config: { url: "http://x.test" } }] };
  await assert.rejects(
    createService({ seed: { organizations: [acme] } }),
    /organizations\.0\.integrations\.0\.config\.url must/,
  );
});

test("fields left out of a configuration keep their values, and null removes them", async (t) => {
  const here = await world(t, { transport: recorder().transport });
  const change = (id: string, config: unknown) => here.call("owner", "PATCH", `/v1/integrations/${id}`, { config });
  const cases = [
    ["chat", { channel: "#other" }, { channel: "#other" }],
    ["chat", { events: ["deployment.failed"] }, { events: ["deployment.failed"] }],
    ["chat", { channel: null }, { channel: undefined }],
    ["custom", { events: ["project.created", "project.created"] }, { events: ["project.created"] }],
    ["monitoring", { service: "web" }, { service: "web" }],
    ["monitoring", { service: null }, { service: undefined }],
    ["code_host", { branch: "next" }, { branch: "next" }],
    ["custom", {}, {}],
  ] as const;
  for (const [type, config, expected] of cases) {
    const before = await connect(here, type);
    const after = expect(await change(before.id, config), 200).config;
    assert.deepEqual({ ...expected, ...after }, { ...before.config, ...expected });
    assert.deepEqual((await here.call("owner", "GET", `/v1/integrations/${before.id}`)).body.config, after);
  }
  const custom = await connect(here, "custom");
  const narrow = expect(await change(custom.id, { events: ["project.created"] }), 200).config;
  const moved = expect(await change(custom.id, { url: "https://custom.inbox.test/moved" }), 200).config;
  assert.deepEqual(moved, { ...narrow, url: "https://custom.inbox.test/moved" });
  for (const wrong of [[], "x", 1, null, { url: null }, { url: "http://x.test" }, { events: [] }, { secret: 1 }])
    assert.equal((await change(custom.id, wrong)).status, 422, JSON.stringify(wrong));
  assert.deepEqual((await here.call("owner", "GET", `/v1/integrations/${custom.id}`)).body.config, moved);
  // The stored key is not sent to a new site.
  const { id } = await connect(here, "monitoring");
  assert.equal((await change(id, { site: "example.com" })).status, 422);
  assert.equal(expect(await change(id, { site: "example.com", api_key: "dd_other" }), 200).config.site, "example.com");
});
