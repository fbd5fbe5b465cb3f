import assert from "node:assert/strict";
import { test } from "node:test";
import { callAs, member, withMembers } from "../helpers/members.ts";
import { expect, world } from "../helpers/test-service.ts";

test("A key may have several scopes, and each counts", async (t) => {
  const here = await world(t, {
    seed: withMembers(member("both", "owner", { scopes: ["users:read", "projects:write"] })),
  });
  const ask = async (method: string, path: string) => (await callAs(here, "both", method, path)).status;
  assert.equal(await ask("GET", "/v1/users"), 200);
  assert.equal(await ask("GET", "/v1/projects"), 200);
  assert.equal(await ask("DELETE", "/v1/projects/unknown"), 404);
  assert.equal(await ask("DELETE", "/v1/users/unknown"), 403);
  assert.equal(await ask("GET", "/v1/deployments"), 403);
});

test("The present role counts, not the role at the time when the key was made", async (t) => {
  const here = await world(t);
  const { call } = here;
  const order = { name: "web", region: "eu" };
  const { data } = expect(await call("owner", "GET", "/v1/users"), 200);
  const { id } = data.find(({ name }: { name: string }) => name === "viewer");
  expect(await call("viewer", "POST", "/v1/projects", order), 403);
  expect(await call("owner", "PUT", `/v1/users/${id}`, { role: "admin" }), 200);
  expect(await call("viewer", "POST", "/v1/projects", order), 201);
  expect(await call("owner", "PUT", `/v1/users/${id}`, { role: "viewer" }), 200);
  expect(await call("viewer", "POST", "/v1/projects", { ...order, name: "api" }), 403);
});

test("A refusal says what is needed and what the key has", async (t) => {
  const here = await world(t, { seed: withMembers(member("narrow", "owner", { scopes: ["users:read"] })) });
  const role = await here.call("viewer", "POST", "/v1/projects", {});
  assert.match(role.body.error.message, /owner.*admin.*viewer/);
  const scope = await callAs(here, "narrow", "POST", "/v1/projects", {});
  assert.match(scope.body.error.message, /projects:write.*users:read/);
});
