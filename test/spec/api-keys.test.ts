import assert from "node:assert/strict";
import { dirname } from "node:path";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { bearer } from "../helpers/headers.ts";
import { callAs, member, temporary, withMembers } from "../helpers/members.ts";
import { walk } from "../helpers/pagination.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { openStream } from "../helpers/stream-client.ts";
import { filesContaining } from "../helpers/temporary-store.ts";
import { check, expect, start, type Who, type World, world } from "../helpers/test-service.ts";

const ci = { name: "ci", scopes: ["deployments:write"] };
const make = async (here: World, who: Who = "owner", body: object = ci) =>
  expect(await here.call(who, "POST", "/v1/api-keys", body), 201);
const path = ({ id }: { id: string }) => `/v1/api-keys/${id}`;
const unknown = { id: "key_01ARZ3NDEKTSV4RRFFQ69G5FAV" };
const me = (here: World, key: string) => here.call("nobody", "GET", "/v1/me", undefined, bearer(key));
const namesFor = async (here: World, who: Who) =>
  expect(await here.call(who, "GET", "/v1/api-keys"), 200).data.map(({ name }: { name: string }) => name);

test("POST /api-keys", async (t) => {
  for (const who of ["owner", "admin", "developer", "viewer"] as const) {
    await check(t, {
      name: `makes a key for ${who}, of their role, and shows it this once`,
      as: who,
      when: ["POST", "/v1/api-keys"],
      body: { name: " ci ", scopes: ["users:read", "deployments:write", "users:read"] },
      then: 201,
      and: async ({ meta: _, id, user_id, key, created_by_key_id, ...rest }, { headers }, here) => {
        const scopes = ["users:read", "deployments:write"];
        const times = { created_at: start, last_used_at: null, expires_at: null };
        assert.deepEqual(rest, { name: "ci", scopes, rate_limit: null, ...times });
        assert.match(key, /^sk_live_[A-Za-z0-9]{32,}$/);
        assert.equal(headers.get("location"), path({ id }));
        const mine = expect(await me(here, key), 200);
        assert.deepEqual([mine.user.id, mine.user.role], [user_id, who]);
        assert.deepEqual(mine.key, { id, name: "ci", scopes });
        const read = await here.call(who, "GET", path({ id }));
        const { meta: _meta, ...record } = expect(read, 200);
        assert.deepEqual(record, { id, user_id, created_by_key_id, ...rest, last_used_at: start });
        for (const { text } of [read, await here.call("owner", "GET", "/v1/api-keys")])
          assert.ok(!text.includes(key), "a key is shown once");
      },
    });
  }

  const refused: [string, object, string[]][] = [
    ["no name", { scopes: ["*"] }, ["name"]],
    ["an empty name", { name: "  " }, ["name"]],
    ["a name of 65 characters", { name: "x".repeat(65) }, ["name"]],
    ["a name that is no text", { name: 7 }, ["name"]],
    ["a name with U+0000", { name: "a\u0000b" }, ["name"]],
    ["no scope at all", { name: "ci", scopes: [] }, ["scopes"]],
    ["scopes as text", { name: "ci", scopes: "*" }, ["scopes"]],
    ["null for scopes", { name: "ci", scopes: null }, ["scopes"]],
    ["an unknown scope", { name: "ci", scopes: ["projects:read", "keys:write"] }, ["scopes.1"]],
    ["a scope of another case", { name: "ci", scopes: ["Projects:Read"] }, ["scopes.0"]],
    ["an expiry that is now", { name: "ci", expires_at: start }, ["expires_at"]],
    ["an expiry in the past", { name: "ci", expires_at: "2025-12-31T23:59:59.999Z" }, ["expires_at"]],
    ["an expiry without a zone", { name: "ci", expires_at: "2027-01-01T00:00:00" }, ["expires_at"]],
    ["an expiry on a day that does not exist", { name: "ci", expires_at: "2027-02-30T00:00:00Z" }, ["expires_at"]],
    ["an expiry as a number", { name: "ci", expires_at: 1_800_000_000 }, ["expires_at"]],
    ["several at once", { scopes: [], expires_at: "soon" }, ["name", "scopes", "expires_at"]],
  ];
  for (const [what, body, paths] of refused) {
    await check(t, {
      name: `refuses ${what}`,
      as: "owner",
      when: ["POST", "/v1/api-keys"],
      body,
      then: [422, "validation_failed"],
      and: async (answer, _reply, here) => {
        assert.deepEqual(pathsOf(answer), paths);
        assert.deepEqual((await namesFor(here, "owner")).length, 4);
      },
    });
  }

  await check(t, {
    name: "takes an expiry in any zone, and the key stops at that millisecond",
    as: "viewer",
    when: ["POST", "/v1/api-keys"],
    body: { name: "brief", expires_at: "2026-01-01T02:01:00+02:00" },
    then: 201,
    and: async ({ key, expires_at }, _reply, here) => {
      assert.equal(expires_at, "2026-01-01T00:01:00.000Z");
      await here.service.clock.advance("59s999ms");
      expect(await me(here, key), 200);
      await here.service.clock.advance("1ms");
      expect(await me(here, key), 401);
    },
  });
});

test("a key never gets a scope that its maker's key lacks", async (t) => {
  const narrow = member("narrow", "owner", { scopes: ["users:write", "projects:write", "deployments:read"] });
  const here = await world(t, { seed: withMembers(narrow) });
  const ask = (scopes?: string[]) => callAs(here, "narrow", "POST", "/v1/api-keys", { name: "more", scopes });
  for (const scopes of [
    ["*"],
    ["deployments:write"],
    ["webhooks:read"],
    ["users:read", "generations:write"],
    ["projects:read", "*"],
  ]) {
    const { error } = expect(await ask(scopes), 403);
    assert.equal(error.code, "insufficient_scope", scopes.join());
    assert.match(error.message, /cannot give .*; leave them out/);
  }
  for (const scopes of [["users:write"], ["users:read"], ["projects:read", "projects:write"], ["deployments:read"]])
    assert.deepEqual(expect(await ask(scopes), 201).scopes, scopes);
  const same = expect(await ask(), 201);
  assert.deepEqual(same.scopes, ["users:write", "projects:write", "deployments:read"], "the maker's, without any");
  // The new key cannot make a key with more scopes either.
  const child = await here.call("nobody", "POST", "/v1/api-keys", { name: "x", scopes: ["*"] }, bearer(same.key));
  assert.equal(expect(child, 403).error.code, "insufficient_scope");
});

test("a key cannot outlive the key that makes it or exceed its rate limit", async (t) => {
  const expires_at = "2026-01-01T01:00:00.000Z";
  const here = await world(t, { seed: withMembers(member("brief", "viewer", { expires_at, rate_limit: 20 })) });
  const ask = (more: object) => callAs(here, "brief", "POST", "/v1/api-keys", { name: "child", ...more });
  assert.deepEqual(pathsOf(expect(await ask({ expires_at: "2026-01-01T01:00:00.001Z" }), 422)), ["expires_at"]);
  for (const more of [{}, { expires_at: null }, { expires_at }]) {
    const child = expect(await ask(more), 201);
    assert.equal(child.expires_at, expires_at);
    assert.equal((await me(here, child.key)).headers.get("x-ratelimit-limit"), "20");
  }
  const sooner = expect(await ask({ expires_at: "2026-01-01T00:30:00Z" }), 201);
  assert.equal(sooner.expires_at, "2026-01-01T00:30:00.000Z");
});

test("a user has at most 100 keys", async (t) => {
  const here = await world(t);
  for (let i = 1; i < 100; i++) await make(here, "developer");
  const { error } = expect(await here.call("developer", "POST", "/v1/api-keys", ci), 409);
  assert.equal(error.code, "limit_reached");
  const wrong = await here.call("developer", "POST", "/v1/api-keys", { ...ci, rate_limit: 2_000 });
  assert.deepEqual(pathsOf(expect(wrong, 422)), ["rate_limit"], "a rule comes before the conflict");
  await make(here, "viewer");
  const [{ id }] = expect(await here.call("developer", "GET", "/v1/api-keys?per_page=1"), 200).data;
  expect(await here.call("developer", "DELETE", path({ id })), 204);
  await make(here, "developer");
});

test("owner and admin see and revoke all keys, others their own", async (t) => {
  const here = await world(t);
  const keys: Record<string, { id: string; key: string }> = {};
  for (const who of ["owner", "admin", "developer", "viewer"] as const)
    keys[who] = await make(here, who, { name: `${who}'s` });
  const all = ["viewer's", "developer's", "admin's", "owner's", "viewer", "developer", "admin", "owner"];
  assert.deepEqual(await namesFor(here, "owner"), all, "newest first");
  assert.deepEqual(await namesFor(here, "admin"), all);
  for (const who of ["developer", "viewer"] as const) assert.deepEqual(await namesFor(here, who), [`${who}'s`, who]);
  assert.deepEqual(await namesFor(here, "stranger"), ["main"]);
  for (const who of ["developer", "viewer", "stranger"] as const) {
    for (const one of [keys["owner"], keys[who === "viewer" ? "developer" : "viewer"], unknown]) {
      for (const method of ["GET", "DELETE"]) {
        const { error } = expect(await here.call(who, method, path(one ?? unknown)), 404);
        assert.equal(error.message, "no key has this identifier");
      }
    }
  }
  for (const [who, whose] of [
    ["viewer", "viewer"],
    ["admin", "developer"],
    ["admin", "owner"],
    ["owner", "admin"],
  ] as const) {
    const { id = "", key = "" } = keys[whose] ?? {};
    expect(await me(here, key), 200);
    expect(await here.call(who, "DELETE", path({ id })), 204);
    expect(await me(here, key), 401);
    expect(await here.call(who, "DELETE", path({ id })), 404);
  }
});

test("a key may revoke itself", async (t) => {
  const here = await world(t);
  const { id, key } = await make(here, "viewer", { name: "leaver" });
  expect(await here.call("nobody", "DELETE", path({ id }), undefined, bearer(key)), 204);
  expect(await me(here, key), 401);
});

test("the list holds everything, or pages on request", async (t) => {
  const here = await world(t);
  for (let i = 0; i < 25; i++) await make(here, "developer", { name: `key ${i}` });
  assert.equal((await namesFor(here, "developer")).length, 26);
  const pages = await walk(here, "/v1/api-keys", 10, undefined, "developer");
  assert.deepEqual(
    pages.map(({ length }) => length),
    [10, 10, 6],
  );
  assert.deepEqual(
    pages.flat().map(({ name }) => name),
    await namesFor(here, "developer"),
  );
  const { meta } = expect(await here.call("developer", "GET", "/v1/api-keys?per_page=2"), 200);
  for (const query of ["per_page=0", "per_page=101", "cursor=x"])
    expect(await here.call("owner", "GET", `/v1/api-keys?${query}`), 422);
  // A cursor is bound to the rights of its caller.
  expect(await here.call("viewer", "GET", `/v1/api-keys?cursor=${meta.next_cursor}`), 422);
});

test("the time of a key's last use is shown to the minute", async (t) => {
  const here = await world(t);
  const { id, key } = await make(here);
  const used = async () => expect(await here.call("owner", "GET", path({ id })), 200).last_used_at;
  assert.equal(await used(), null);
  expect(await me(here, key), 200);
  assert.equal(await used(), start);
  await here.service.clock.advance("2m");
  assert.equal(await used(), start);
  expect(await me(here, key), 200);
  assert.equal(await used(), "2026-01-01T00:02:00.000Z");
});

test("a stream ends when its key is revoked", async (t) => {
  const here = await listeningWorld(t);
  const { id, key } = await make(here, "developer", { name: "reader" });
  const stream = openStream(t, here, "", bearer(key));
  const stays = openStream(t, here);
  await Promise.all([stream.begun, stays.begun]);
  expect(await here.call("developer", "DELETE", path({ id })), 204);
  assert.equal((await stream.closed).code, 4401);
  await here.project();
  await stays.until(1);
});

test("an idempotency key replays the same API key, which is in no file of the database", async (t) => {
  const database = temporary(t);
  const headers = { "idempotency-key": "once" };
  const ask = (here: World) => here.call("owner", "POST", "/v1/api-keys", ci, headers);
  const before = await world(t, { database });
  const first = await ask(before);
  const { key, id } = expect(first, 201);
  for (const look of ["while it runs", "after its end"]) {
    assert.notDeepEqual(filesContaining(dirname(database), id), [], `these are the files, ${look}`);
    assert.deepEqual(filesContaining(dirname(database), key), [], look);
    await before.service.close();
  }
  const after = await world(t, { database });
  const again = await ask(after);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal((await namesFor(after, "owner")).length, 5, "no second one was made");
  await after.service.close();
});
