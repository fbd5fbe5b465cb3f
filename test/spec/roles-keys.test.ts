import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer } from "../helpers/headers.ts";
import { callAs, member, withMembers } from "../helpers/members.ts";
import { expect, keyOf, type Reply, start, type World, world } from "../helpers/test-service.ts";

const wanted = { code: "unauthorized" };

/** A 401 looks the same for every reason, so it reveals nothing. */
function isRefused(reply: Reply) {
  const { error } = expect(reply, 401);
  assert.equal(error.code, wanted.code);
  assert.equal(reply.headers.get("www-authenticate"), "Bearer");
  return error.message;
}

const ask = ({ call }: World, headers: Record<string, string>, path = "/v1/projects") =>
  call("nobody", "GET", path, undefined, headers);

test("401 for a key that is missing, malformed, unknown or sent in another way, in the same words", async (t) => {
  const here = await world(t);
  const key = keyOf("owner");
  const words = new Set<string>();
  for (const authorization of [
    "",
    "Bearer",
    "Bearer ",
    key,
    `Basic ${Buffer.from(`${key}:`).toString("base64")}`,
    `Basic ${key}`,
    `Token ${key}`,
    `Bearer${key}`,
    `Bearer "${key}"`,
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key}, Bearer ${key}`,
    `Bearer ${key.toUpperCase()}`,
    `Bearer ${key.replace("sk_live_", "")}`,
    `Bearer ${key.replace("sk_live_", "sk_test_")}`,
    "Bearer sk_live_",
    "Bearer sk_live_abc",
    "Bearer sk_live_unknown",
    `Bearer sk_live_${"x".repeat(128)}`,
    `Bearer sk_live_${"x".repeat(4000)}`,
    "Bearer sk_live_' or 1=1 --",
    "Bearer sk_live_%00",
  ]) {
    words.add(isRefused(await ask(here, { authorization })));
  }
  words.add(isRefused(await ask(here, {})));
  words.add(isRefused(await ask(here, { "x-api-key": key })));
  words.add(isRefused(await ask(here, { cookie: `authorization=Bearer ${key}` })));
  for (const name of ["key", "api_key", "access_token", "token", "authorization"]) {
    words.add(isRefused(await ask(here, {}, `/v1/projects?${name}=${key}`)));
  }
  assert.equal(words.size, 1);
});

test("The scheme's case and further spaces do not matter", async (t) => {
  const here = await world(t);
  for (const scheme of ["Bearer ", "bearer ", "BEARER  "]) {
    expect(await ask(here, { authorization: `${scheme}${keyOf("owner")}` }), 200);
  }
});

test("401 comes before the route: an unknown path without a key is 401", async (t) => {
  const here = await world(t);
  for (const path of ["/v1", "/v1/", "/v1/nothing", "/v1/projects/", "/v1/projects/unknown"]) {
    isRefused(await ask(here, {}, path));
  }
  isRefused(await here.call("nobody", "PATCH", "/v1/projects"));
});

test("401 from the millisecond at which a key expires", async (t) => {
  const expires_at = new Date(Date.parse(start) + 60_000).toISOString();
  const seed = withMembers(
    member("brief", "owner", { expires_at }),
    member("zoned", "owner", { expires_at: "2026-01-01T02:01:00+02:00" }),
    member("past", "owner", { expires_at: "2025-12-31T23:59:59Z" }),
  );
  const here = await world(t, { seed });
  const me = (name: string) => callAs(here, name, "GET", "/v1/me");
  isRefused(await me("past"));
  await here.service.clock.advance("59s");
  await here.service.clock.advance("999ms");
  for (const name of ["brief", "zoned"]) expect(await me(name), 200);
  await here.service.clock.advance("1ms");
  for (const name of ["brief", "zoned"]) isRefused(await me(name));
});

const idOf = async ({ call }: World, name: string) => {
  const { data } = expect(await call("owner", "GET", "/v1/users"), 200);
  return data.find((user: { name: string }) => user.name === name).id as string;
};

test("A suspended user's keys stop at once, and work again after reactivation", async (t) => {
  const here = await world(t);
  const { call } = here;
  const id = await idOf(here, "developer");
  expect(await call("developer", "GET", "/v1/me"), 200);
  expect(await call("owner", "POST", `/v1/users/${id}/suspend`), 200);
  isRefused(await call("developer", "GET", "/v1/me"));
  expect(await call("owner", "POST", `/v1/users/${id}/reactivate`), 200);
  expect(await call("developer", "GET", "/v1/me"), 200);
});

test("A removed user's keys stop at once, all of them", async (t) => {
  const two = { ...member("both", "developer"), keys: [{ key: "sk_live_both" }, { key: "sk_live_second" }] };
  const here = await world(t, { seed: withMembers(two) });
  for (const key of ["sk_live_both", "sk_live_second"]) expect(await ask(here, bearer(key)), 200);
  expect(await here.call("owner", "DELETE", `/v1/users/${await idOf(here, "both")}`), 204);
  for (const key of ["sk_live_both", "sk_live_second"]) isRefused(await ask(here, bearer(key)));
});

test("A user who removes themselves loses access at once", async (t) => {
  const here = await world(t);
  expect(await here.call("admin", "DELETE", `/v1/users/${await idOf(here, "admin")}`), 204);
  isRefused(await here.call("admin", "GET", "/v1/me"));
});

test("The key of a suspended user in a seed does not work", async (t) => {
  const seed = withMembers({ ...member("asleep", "owner"), status: "suspended" });
  isRefused(await callAs(await world(t, { seed }), "asleep", "GET", "/v1/me"));
});

test("A key that the service makes is sk_live_ and at least 32 of base62, and has the role and scopes asked for", async (t) => {
  const here = await world(t);
  const { key } = await here.service.keys.create({
    organization: "acme",
    role: "developer",
    scopes: ["projects:read"],
  });
  assert.match(key, /^sk_live_[A-Za-z0-9]{32,}$/);
  const me = expect(await ask(here, bearer(key), "/v1/me"), 200);
  assert.equal(me.organization.name, "acme");
  assert.equal(me.user.role, "developer");
  assert.deepEqual(me.key.scopes, ["projects:read"]);
  assert.ok(!JSON.stringify(me).includes(key), "a key is shown once");
});
