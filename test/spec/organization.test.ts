import assert from "node:assert/strict";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { check, expect, start, type World, world } from "../helpers/test-service.ts";

const monitoring = { type: "monitoring", config: { api_key: "dd_demo_key", site: "example.org" } };
const unreachable = { transport: async () => new Response(null, { status: 503 }) };

const change = async (here: World, body: object) =>
  expect(await here.call("owner", "PUT", "/v1/organization", body), 200);
const connect = async (here: World, body: object = monitoring) =>
  expect(await here.call("owner", "POST", "/v1/integrations", body), 201);
const statusOf = async (here: World, { id }: { id: string }) =>
  expect(await here.call("viewer", "GET", `/v1/integrations/${id}`), 200).status;
const deliveriesOf = async (here: World, { id }: { id: string }): Promise<string[]> =>
  expect(await here.call("viewer", "GET", `/v1/integrations/${id}/deliveries`), 200).data.map(
    ({ status }: { status: string }) => status,
  );

test("GET /organization", async (t) => {
  for (const who of ["owner", "admin", "developer", "viewer", "stranger"] as const) {
    await check(t, {
      name: `shows ${who} their own`,
      as: who,
      when: ["GET", "/v1/organization"],
      then: 200,
      and: ({ meta: _, id, ...organization }) => {
        assert.match(id, /^org_/);
        const [name, plan] = who === "stranger" ? ["globex", "starter"] : ["acme", "pro"];
        assert.deepEqual(organization, { name, plan, created_at: start });
      },
    });
  }
});

test("PUT /organization", async (t) => {
  for (const [what, body, after] of [
    ["the name, trimmed", { name: "  Acme, Inc. " }, { name: "Acme, Inc.", plan: "pro" }],
    ["the name to its own in another case", { name: "ACME" }, { name: "ACME", plan: "pro" }],
    ["the plan", { plan: "enterprise" }, { name: "acme", plan: "enterprise" }],
    ["both", { name: "Umbrella", plan: "starter" }, { name: "Umbrella", plan: "starter" }],
    ["nothing, and passes over what it does not know", { id: "x", created_at: 7 }, { name: "acme", plan: "pro" }],
  ] as const) {
    await check(t, {
      name: `changes ${what}`,
      as: "owner",
      when: ["PUT", "/v1/organization"],
      body,
      then: 200,
      and: async ({ meta: _, ...changed }, _reply, here) => {
        const { meta: _meta, ...read } = expect(await here.call("viewer", "GET", "/v1/organization"), 200);
        assert.deepEqual(changed, { id: read.id, ...after, created_at: start });
        assert.deepEqual(read, changed);
        const { organization } = expect(await here.call("viewer", "GET", "/v1/me"), 200);
        assert.deepEqual(organization, { id: read.id, ...after });
        assert.equal(expect(await here.call("stranger", "GET", "/v1/organization"), 200).name, "globex");
      },
    });
  }

  const refused: [string, object, string[]][] = [
    ["an empty name", { name: " " }, ["name"]],
    ["a name of 65 characters", { name: "x".repeat(65) }, ["name"]],
    ["a name that is no text", { name: null }, ["name"]],
    ["a name with U+0000", { name: "a\u0000" }, ["name"]],
    ["an unknown plan", { plan: "free" }, ["plan"]],
    ["a plan in another case", { plan: "Pro" }, ["plan"]],
    ["null for a plan", { plan: null }, ["plan"]],
    ["two wrong fields", { name: "", plan: 1 }, ["name", "plan"]],
  ];
  for (const [what, body, paths] of refused) {
    await check(t, {
      name: `refuses ${what}`,
      as: "owner",
      when: ["PUT", "/v1/organization"],
      body,
      then: [422, "validation_failed"],
      and: (answer) => assert.deepEqual(pathsOf(answer), paths),
    });
  }
  for (const name of ["globex", " GLOBEX "]) {
    await check(t, {
      name: `refuses ${JSON.stringify(name)}, which another organization has`,
      as: "owner",
      when: ["PUT", "/v1/organization"],
      body: { name, plan: "starter" },
      then: [409, "name_taken"],
      and: async (_answer, _reply, here) =>
        assert.equal(expect(await here.call("owner", "GET", "/v1/organization"), 200).plan, "pro"),
    });
  }
  for (const who of ["admin", "developer", "viewer"] as const) {
    await check(t, {
      name: `is not for ${who}`,
      as: who,
      when: ["PUT", "/v1/organization"],
      body: { name: "mine" },
      then: [403, "insufficient_role"],
    });
  }
});

test("a plan below pro turns monitoring off, and its pending deliveries become skipped", async (t) => {
  const here = await world(t, unreachable);
  const [first, second] = [await connect(here), await connect(here)];
  const custom = await connect(here, { type: "custom", config: { url: "https://custom.inbox.test/in" } });
  here.service.webhooks.sink("custom", () => new Response(null, { status: 503 }));
  await here.project();
  await here.service.settle();
  assert.deepEqual(await deliveriesOf(here, first), ["pending"]);
  await change(here, { plan: "enterprise" });
  assert.equal(await statusOf(here, first), "active", "a plan that includes it leaves it alone");

  await change(here, { plan: "starter" });
  for (const one of [first, second]) {
    assert.equal(await statusOf(here, one), "inactive");
    assert.deepEqual(await deliveriesOf(here, one), ["skipped"]);
  }
  assert.equal(await statusOf(here, custom), "active");
  assert.deepEqual(await deliveriesOf(here, custom), ["pending"]);
  const activate = () => here.call("owner", "PATCH", `/v1/integrations/${first.id}`, { status: "active" });
  assert.equal(expect(await activate(), 403).error.code, "plan_required");
  assert.equal(
    expect(await here.call("owner", "POST", "/v1/integrations", monitoring), 403).error.code,
    "plan_required",
  );

  await change(here, { plan: "pro" });
  assert.equal(await statusOf(here, first), "inactive", "raising turns nothing on");
  assert.equal(expect(await activate(), 200).status, "active");
  assert.deepEqual(await deliveriesOf(here, first), ["skipped"]);
});

test("a plan that is lowered while monitoring is created leaves none behind", async (t) => {
  const here = await world(t, unreachable);
  const [made, lowered] = await Promise.all([
    here.call("owner", "POST", "/v1/integrations", monitoring),
    here.call("owner", "PUT", "/v1/organization", { plan: "starter" }),
  ]);
  expect(lowered, 200);
  if (made.status !== 201) assert.equal(expect(made, 403).error.code, "plan_required");
  const { data } = expect(await here.call("owner", "GET", "/v1/integrations"), 200);
  assert.deepEqual(
    data.filter(({ status }: { status: string }) => status === "active"),
    [],
  );
});
