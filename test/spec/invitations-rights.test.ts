import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer } from "../helpers/headers.ts";
import { callAs, member, withMembers } from "../helpers/members.ts";
import { expect, keyOf, type World, world } from "../helpers/test-service.ts";

const narrow = member("narrow", "owner", { scopes: ["users:write", "deployments:read"] });
const broad = member("broad", "owner", { scopes: ["*", "users:write"] });

const tokenOf = async (here: World): Promise<string> =>
  expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data.at(-1).token;
const accept = async (here: World, token: string) =>
  here.call("nobody", "POST", "/v1/invitations/accept", { token, name: "Ada" });
const invite = (here: World, key: string, role = "admin", email = "ada@example.com") =>
  here.call("nobody", "POST", "/v1/users/invite", { email, role }, bearer(key));
const scopesOf = async (here: World, key: string) =>
  expect(await here.call("nobody", "GET", "/v1/me", undefined, bearer(key)), 200).key.scopes;
const idOf = async (here: World, name: string): Promise<string> =>
  expect(await here.call("owner", "GET", "/v1/users"), 200).data.find((one: { name: string }) => one.name === name).id;

test("inviting as owner needs a key with the scope *", async (t) => {
  const here = await world(t, { seed: withMembers(narrow, broad) });
  const { error } = expect(await invite(here, "sk_live_narrow", "owner"), 403);
  assert.equal(error.code, "insufficient_scope");
  assert.match(
    error.message,
    /^only a key with the scope \* may invite as an owner.* this key has users:write, deployments:read/,
  );
  assert.deepEqual(await here.events(), [], "no mail, no event");
  // The role is checked before the scope.
  const admin = withMembers(member("clerk", "admin", { scopes: ["users:write"] }));
  const other = await world(t, { seed: admin });
  assert.equal(expect(await invite(other, "sk_live_clerk", "owner"), 403).error.code, "insufficient_role");
  expect(await invite(here, "sk_live_broad", "owner"), 201);
});

test("an invitation as owner is not resent with a key without the scope *", async (t) => {
  const here = await world(t, { seed: withMembers(narrow) });
  const { id } = expect(await invite(here, keyOf("owner"), "owner"), 201);
  const { error } = expect(await callAs(here, "narrow", "POST", `/v1/invitations/${id}/resend`), 403);
  assert.equal(error.code, "insufficient_scope");
});

test("a promotion to owner needs a key with the scope *; a demotion does not", async (t) => {
  const here = await world(t, { seed: withMembers(narrow, broad) });
  const admin = `/v1/users/${await idOf(here, "admin")}`;
  const { error } = expect(await callAs(here, "narrow", "PUT", admin, { role: "owner" }), 403);
  assert.equal(error.code, "insufficient_scope");
  assert.equal(expect(await here.call("owner", "GET", admin), 200).role, "admin");
  expect(await callAs(here, "broad", "PUT", admin, { role: "owner" }), 200);
  expect(await callAs(here, "narrow", "PUT", admin, { role: "owner" }), 200);
  expect(await callAs(here, "narrow", "PUT", admin, { role: "admin" }), 200);
});

test("the first key of the invited has the scopes of the inviter's key", async (t) => {
  const here = await world(t, { seed: withMembers(narrow) });
  expect(await invite(here, "sk_live_narrow"), 201);
  const { api_key } = expect(await accept(here, await tokenOf(here)), 201);
  assert.deepEqual(await scopesOf(here, api_key), ["users:write", "deployments:read"]);
  // The next person gets no more scopes either.
  expect(await invite(here, api_key, "admin", "eve@example.com"), 201);
  const next = expect(await accept(here, await tokenOf(here)), 201);
  assert.deepEqual(await scopesOf(here, next.api_key), ["users:write", "deployments:read"]);
});

test("the scopes are those of the invitation, after its key was revoked", async (t) => {
  const here = await world(t, { seed: withMembers(narrow) });
  expect(await invite(here, "sk_live_narrow"), 201);
  const narrowId = await idOf(here, "narrow");
  const { data } = expect(await here.call("owner", "GET", "/v1/api-keys"), 200);
  const { id } = data.find(({ user_id }: { user_id: string }) => user_id === narrowId);
  expect(await here.call("owner", "DELETE", `/v1/api-keys/${id}`), 204);
  const { api_key } = expect(await accept(here, await tokenOf(here)), 201);
  assert.deepEqual(await scopesOf(here, api_key), ["users:write", "deployments:read"]);
});

test("whoever resends an invitation gives the scopes of their key", async (t) => {
  const here = await world(t, { seed: withMembers(narrow) });
  const { id } = expect(await invite(here, keyOf("owner")), 201);
  expect(await callAs(here, "narrow", "POST", `/v1/invitations/${id}/resend`), 200);
  const { api_key } = expect(await accept(here, await tokenOf(here)), 201);
  assert.deepEqual(await scopesOf(here, api_key), ["users:write", "deployments:read"]);
});

test("an invitation from the dashboard, which has no key in dev, gives every scope", async (t) => {
  const here = await world(t);
  const { url } = await here.service.listen({ port: 0 });
  const response = await fetch(`${url}/dashboard/api/users/invite`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ email: "ada@example.com", role: "admin" }),
  });
  assert.equal(response.status, 201, await response.text());
  const { api_key } = expect(await accept(here, await tokenOf(here)), 201);
  assert.deepEqual(await scopesOf(here, api_key), ["*"]);
});

for (const [what, method, path] of [
  ["removed", "DELETE", ""],
  ["suspended", "POST", "/suspend"],
] as const) {
  test(`the open invitations of a person who is ${what} are void`, async (t) => {
    const here = await world(t);
    const others = expect(await invite(here, keyOf("owner"), "viewer", "stays@example.com"), 201);
    const stays = await tokenOf(here);
    const { id } = expect(await invite(here, keyOf("admin")), 201);
    const token = await tokenOf(here);
    await here.service.clock.advance("1h");
    const user = `/v1/users/${await idOf(here, "admin")}`;
    const ended = await here.call("owner", method, user + path);
    assert.ok(ended.status < 300, ended.text);
    // The same 404 as for an unknown token.
    const reply = expect(await accept(here, token), 404);
    assert.deepEqual(reply.error, expect(await accept(here, "unknown"), 404).error);
    // Lists show the void invitation as expired at that instant; the other person's invitation is unchanged.
    const { data } = expect(await here.call("owner", "GET", "/v1/invitations"), 200);
    const expiries = new Map(data.map((one: { id: string; expires_at: string }) => [one.id, one.expires_at]));
    assert.deepEqual([expiries.get(id), expiries.get(others.id)], ["2026-01-01T01:00:00.000Z", others.expires_at]);
    if (what === "suspended") {
      expect(await here.call("owner", "POST", `${user}/reactivate`), 200);
      expect(await accept(here, token), 404);
    }
    // The address can be invited again, and the other invitation still works.
    expect(await accept(here, stays), 201);
    expect(await invite(here, keyOf("owner")), 201);
    expect(await accept(here, await tokenOf(here)), 201);
  });
}

test("an expired invitation keeps its time when its sender is suspended", async (t) => {
  const here = await world(t);
  const { id, expires_at } = expect(await invite(here, keyOf("admin")), 201);
  await here.service.clock.advance("8d");
  expect(await here.call("owner", "POST", `/v1/users/${await idOf(here, "admin")}/suspend`), 200);
  assert.equal(expect(await here.call("owner", "GET", `/v1/invitations/${id}`), 200).expires_at, expires_at);
});

test("the open invitations that a leaked key sent end with it and all that it made", async (t) => {
  const here = await world(t);
  const make = async (key: string) =>
    expect(await here.call("nobody", "POST", "/v1/api-keys", { name: "x" }, bearer(key)), 201);
  const leaked = await make(keyOf("owner"));
  const made = await make(leaked.key);
  expect(await invite(here, made.key, "admin", "eve@example.com"), 201);
  const token = await tokenOf(here);
  expect(await invite(here, keyOf("owner"), "admin", "stays@example.com"), 201);
  const stays = await tokenOf(here);
  expect(await here.call("owner", "DELETE", `/v1/api-keys/${leaked.id}?cascade=true`), 204);
  expect(await accept(here, token), 404);
  expect(await accept(here, stays), 201);
});
