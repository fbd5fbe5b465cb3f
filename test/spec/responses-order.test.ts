import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer } from "../helpers/headers.ts";
import { member, withMembers } from "../helpers/members.ts";
import { expect, keyOf, type World, world } from "../helpers/test-service.ts";

const options = {
  bodyLimit: 64,
  seed: withMembers(member("narrow", "admin", { scopes: ["users:read"] }), member("poor", "viewer", { scopes: [] })),
};
const big = `{${" ".repeat(100)}`;
const text = { "content-type": "text/plain" };

const code = async ({ call }: World, method: string, path: string, body: unknown, headers: Record<string, string>) => {
  const reply = await call("nobody", method, path, body, headers);
  return `${reply.status} ${reply.body.error?.code}`;
};

test("Order of checks: each request breaks every later rule as well", async (t) => {
  const here = await world(t, options);
  const unknown = "/v1/projects/proj_unknown";
  const ask = (headers: Record<string, string>, body: unknown = big, path = unknown, method = "PUT") =>
    code(here, method, path, body, headers);
  const owner = bearer(keyOf("owner"));
  const poor = bearer("sk_live_poor");

  assert.equal(await ask(text, big, "/v1/nothing"), "401 unauthorized");
  assert.equal(await ask({ ...poor, ...text }, big, "/v1/nothing"), "404 not_found");
  assert.equal(await ask({ ...poor, ...text }, big, unknown, "PATCH"), "405 method_not_allowed");
  assert.equal(await ask({ ...poor, ...text }), "403 insufficient_role");
  assert.equal(await ask({ ...bearer("sk_live_narrow"), ...text }), "403 insufficient_scope");
  assert.equal(await ask({ ...owner, ...text }), "415 unsupported_media_type");
  assert.equal(await ask(owner), "413 body_too_large");
  assert.equal(await ask(owner, "{"), "400 invalid_json");
  assert.equal(await ask(owner, { name: "x" }), "422 validation_failed");
  assert.equal(await ask(owner, { name: "web" }), "404 not_found");
});

test("Order of checks: an Idempotency-Key outside its limits is a rule, which comes after the form of the body", async (t) => {
  const here = await world(t);
  const headers = { ...bearer(keyOf("owner")), "idempotency-key": "k".repeat(256) };
  for (const path of ["/v1/projects", "/v1/integrations"]) {
    assert.equal(await code(here, "POST", path, "{", headers), "400 invalid_json");
    assert.equal(await code(here, "POST", path, {}, headers), "422 validation_failed");
  }
});

test("Order of checks: rules that need the record come after the identifier and before conflicts", async (t) => {
  const here = await world(t);
  const { call, project } = here;
  await project("taken");
  const { id } = await project("web");
  const both = { name: "taken", region: "us-east-1" };
  assert.equal(
    await code(here, "PUT", `/v1/projects/${id}`, both, bearer(keyOf("owner"))),
    "422 validation_failed",
    "another region is told before the taken name",
  );
  const { data } = expect(await call("admin", "GET", "/v1/users"), 200);
  const owner = data.find(({ role }: { role: string }) => role === "owner");
  assert.equal(
    await code(here, "PUT", `/v1/users/${owner.id}`, { role: "admin" }, bearer(keyOf("admin"))),
    "403 insufficient_role",
    "the owner rule is told before the last owner",
  );
  assert.equal(
    await code(here, "PUT", "/v1/users/usr_unknown", { role: "owner" }, bearer(keyOf("admin"))),
    "404 not_found",
    "the identifier is told before the owner rule",
  );
  assert.equal(
    await code(here, "DELETE", `/v1/users/${owner.id}`, undefined, bearer(keyOf("stranger"))),
    "404 not_found",
    "a foreign identifier is told before everything that needs the record",
  );
});

test("Order of checks: 429 takes the place of 401, and comes before the path", async (t) => {
  const here = await world(t, { ...options, rateLimit: 1, addressRateLimit: 1 });
  assert.equal(await code(here, "PUT", "/v1/nothing", big, text), "401 unauthorized");
  assert.equal(await code(here, "PUT", "/v1/nothing", big, text), "429 rate_limited");
  const viewer = { ...text, ...bearer(keyOf("viewer")) };
  assert.equal(await code(here, "PUT", "/v1/nothing", big, viewer), "404 not_found");
  assert.equal(await code(here, "PUT", "/v1/nothing", big, viewer), "429 rate_limited");
  assert.equal(
    await code(here, "PUT", "/v1/projects/x", big, { ...text, ...bearer("sk_live_poor") }),
    "403 insufficient_role",
  );
});

test("Order of checks: a conflict is the last thing", async (t) => {
  const here = await world(t);
  const { project, deploy, service } = here;
  const { id } = await deploy((await project()).id);
  await service.clock.advance("1m");
  const cancel = `/v1/deployments/${id}/cancel`;
  const owner = bearer(keyOf("owner"));
  assert.equal(await code(here, "POST", cancel, undefined, bearer(keyOf("viewer"))), "403 insufficient_role");
  assert.equal(await code(here, "POST", cancel, "{}", { ...owner, ...text }), "415 unsupported_media_type");
  assert.equal(await code(here, "POST", cancel, "[]", owner), "400 invalid_json");
  assert.equal(await code(here, "POST", cancel, undefined, bearer(keyOf("stranger"))), "404 not_found");
  assert.equal(await code(here, "POST", cancel, undefined, owner), "409 not_cancellable");
});

test("Another path than the exact one is 404", async (t) => {
  const { call, project, deploy } = await world(t);
  const { id } = await project();
  const deployment = (await deploy(id)).id;
  for (const path of [
    "/v1",
    "/v1/",
    "/v1/projects/",
    "/v1/projects//",
    "/v1//projects",
    "/v1/Projects",
    "/v1/projects;x",
    "/v1/projects;x=1",
    "/v1/projects%2F",
    `/v1/projects/${id}/`,
    `/v1/projects/${id}//`,
    `/v1/projects/${id}%2F`,
    `/v1/projects%2F${id}`,
    `/v1/projects/${id};x`,
    `/v1/deployments/${deployment};x/logs`,
    `/v1/projects/${id}%00`,
    `/v1/projects/${id}%20`,
    `/v1/projects/${id}%zz`,
    `/v1/projects/${id.toLowerCase()}`,
    `/v1/deployments/${deployment}/logs/`,
    `/v1/deployments/${deployment}%2Flogs`,
    "/v2/projects",
    "/projects",
    "/",
  ]) {
    const reply = await call("owner", "GET", path);
    assert.equal(reply.status, 404, path);
    assert.equal(reply.body.error.code, "not_found", path);
  }
});

test("Unknown query parameters are ignored, however often they come", async (t) => {
  const { call } = await world(t);
  expect(await call("viewer", "GET", "/v1/projects?x=1&x=2&__proto__=1&constructor=2&%zz"), 200);
  expect(await call("viewer", "GET", "/v1/me?per_page=0&cursor=x"), 200);
});
