import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { pathsOf } from "../helpers/deployments.ts";
import { bearer } from "../helpers/headers.ts";
import { callAs, member, withMembers } from "../helpers/members.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { openStream } from "../helpers/stream-client.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, keyOf, type World, world } from "../helpers/test-service.ts";

type Made = { id: string; key: string; created_by_key_id: string | null; rate_limit: number | null };

const makeWith = async (here: World, key: string, more: object = {}): Promise<Made> =>
  expect(await here.call("nobody", "POST", "/v1/api-keys", { name: "made", ...more }, bearer(key)), 201);
const statusOf = async (here: World, key: string) =>
  (await here.call("nobody", "GET", "/v1/me", undefined, bearer(key))).status;
const end = (here: World, { id }: { id: string }, query = "") =>
  here.call("owner", "DELETE", `/v1/api-keys/${id}${query}`);

test("a key shows the key that made it", async (t) => {
  const here = await world(t);
  const first = await makeWith(here, keyOf("developer"));
  const second = await makeWith(here, first.key);
  assert.equal(second.created_by_key_id, first.id);
  const { data } = expect(await here.call("owner", "GET", "/v1/api-keys"), 200);
  const makers = new Map(data.map(({ id, created_by_key_id }: Made) => [id, created_by_key_id]));
  const [seeded] = data.filter(({ name }: { name: string }) => name === "developer");
  assert.deepEqual([makers.get(second.id), makers.get(first.id), makers.get(seeded.id)], [first.id, seeded.id, null]);
  assert.ok(!JSON.stringify(data).includes("maker_key_id"));
});

test("DELETE /api-keys/{id}?cascade=true ends the keys that it made, and theirs, and no others", async (t) => {
  const here = await world(t);
  const leaked = await makeWith(here, keyOf("developer"));
  const child = await makeWith(here, leaked.key);
  const grandchild = await makeWith(here, child.key);
  const beside = await makeWith(here, keyOf("developer"));
  for (const query of ["?cascade=yes", "?cascade=1"]) {
    assert.deepEqual(pathsOf(expect(await end(here, leaked, query), 422)), ["cascade"]);
  }
  expect(await end(here, leaked, "?cascade=true"), 204);
  for (const { key } of [leaked, child, grandchild]) assert.equal(await statusOf(here, key), 401);
  for (const key of [beside.key, keyOf("developer")]) assert.equal(await statusOf(here, key), 200);
  expect(await end(here, leaked, "?cascade=true"), 404);
});

test("an expiry and a rate limit beyond those of the maker are both listed", async (t) => {
  const expires_at = "2026-01-01T01:00:00.000Z";
  const here = await world(t, { seed: withMembers(member("brief", "viewer", { expires_at, rate_limit: 20 })) });
  for (const wrong of ["2026-01-01T01:00:00.001Z", "2026-01-01T00:00:00.000Z"]) {
    const body = { name: "child", expires_at: wrong, rate_limit: 21 };
    const { error } = expect(await callAs(here, "brief", "POST", "/v1/api-keys", body), 422);
    assert.deepEqual(pathsOf({ error }), ["expires_at", "rate_limit"]);
    assert.match(error.message, / \(and 1 more error\)$/);
  }
});

test("without cascade only the key itself ends", async (t) => {
  const here = await world(t);
  const maker = await makeWith(here, keyOf("developer"));
  const child = await makeWith(here, maker.key);
  expect(await end(here, maker, "?cascade=false"), 204);
  assert.equal(await statusOf(here, child.key), 200);
  const shown = expect(await here.call("owner", "GET", `/v1/api-keys/${child.id}`), 200);
  assert.equal(shown.created_by_key_id, maker.id, "the maker is known after its end");
});

test("a key cannot be hidden from the cascade by ending the one between", async (t) => {
  const here = await world(t);
  const leaked = await makeWith(here, keyOf("developer"));
  const between = await makeWith(here, leaked.key);
  const second = await makeWith(here, between.key);
  const hidden = await makeWith(here, second.key);
  for (const one of [second, between]) expect(await end(here, one), 204);
  expect(await end(here, leaked, "?cascade=true"), 204);
  assert.equal(await statusOf(here, hidden.key), 401);
});

test("the streams of keys that end with their maker end too", async (t) => {
  const here = await listeningWorld(t);
  const leaked = await makeWith(here, keyOf("developer"));
  const child = await makeWith(here, leaked.key);
  const stream = openStream(t, here, "", bearer(child.key));
  await stream.begun;
  expect(await end(here, leaked, "?cascade=true"), 204);
  assert.equal((await stream.closed).code, 4401);
});

test("a chain of thousands ends in one request, and those of others stay", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { database });
  const leaked = await makeWith(here, keyOf("developer"));
  const last = await makeWith(here, leaked.key);
  const file = new Database(database);
  const length = 5_000;
  file.exec(`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${length})
    insert into api_keys select 'key_Z' || i, organization_id, user_id, name, 'hash ' || i, scopes, null, null, null, created_at,
      null, case when i = 1 then '${leaked.id}' else 'key_Z' || (i - 1) end, null
    from n, api_keys where id = '${leaked.id}'`);
  file.exec(`update api_keys set maker_key_id = 'key_Z${length}' where id = '${last.id}'`);
  expect(await end(here, leaked, "?cascade=true"), 204);
  assert.equal(await statusOf(here, last.key), 401);
  assert.equal(file.prepare("select count(*) from api_keys where id like 'key_Z%'").pluck().get(), 0);
  file.close();
  assert.equal(await statusOf(here, keyOf("developer")), 200);
});

test("a key made by a key has at most its rate limit, where 0 is none", async (t) => {
  const seed = withMembers(
    member("limited", "owner", { rate_limit: 20 }),
    member("free", "owner", { rate_limit: 0 }),
    member("usual", "owner"),
  );
  const here = await world(t, { seed, rateLimit: 500 });
  const ask = (name: string, rate_limit?: unknown) =>
    callAs(here, name, "POST", "/v1/api-keys", { name: "child", rate_limit });
  const limitOf = async ({ key }: Made) =>
    (await here.call("nobody", "GET", "/v1/me", undefined, bearer(key))).headers.get("x-ratelimit-limit");
  for (const [name, rate_limit] of [
    ["limited", 21],
    ["limited", 0],
    ["usual", 501],
    ["usual", 0],
    ["free", -1],
    ["free", 1.5],
    ["free", "20"],
  ] as const) {
    const body = expect(await ask(name, rate_limit), 422);
    assert.deepEqual(pathsOf(body), ["rate_limit"], `${name} ${rate_limit}`);
  }
  assert.match(expect(await ask("limited", 0), 422).error.message, /must be 1 to 20, the rate limit of the key/);
  for (const [name, given, stored, limit] of [
    ["limited", undefined, 20, "20"],
    ["limited", null, 20, "20"],
    ["limited", 20, 20, "20"],
    ["limited", 7, 7, "7"],
    ["usual", undefined, null, "500"],
    ["usual", 500, 500, "500"],
    ["free", undefined, 0, "1000000000"],
    ["free", 0, 0, "1000000000"],
    ["free", 3000, 3000, "3000"],
  ] as const) {
    const made = expect(await ask(name, given), 201);
    assert.equal(made.rate_limit, stored, `${name} ${given}`);
    assert.equal(await limitOf(made), limit, `${name} ${given}`);
  }
});

test("keys that a key with a limit makes share its window, theirs too, and after its end", async (t) => {
  const here = await world(t, { seed: withMembers(member("limited", "owner", { rate_limit: 30 })) });
  const [{ id }] = expect(await callAs(here, "limited", "GET", "/v1/api-keys"), 200).data.filter(
    ({ rate_limit }: Made) => rate_limit === 30,
  );
  const made: Made[] = [];
  for (let i = 0; i < 5; i++) made.push(await makeWith(here, "sk_live_limited", { rate_limit: 30 - i }));
  made.push(await makeWith(here, made[0]?.key ?? ""));
  const ask = async (key: string) => here.call("nobody", "GET", "/v1/me", undefined, bearer(key));
  const left = (await ask(made[5]?.key ?? "")).headers.get("x-ratelimit-remaining");
  assert.equal(left, "22", "1 + 5 + 1 + 1 of 30 are used");
  const free = await makeWith(here, keyOf("owner"), { rate_limit: 2 });
  expect(await here.call("owner", "DELETE", `/v1/api-keys/${id}`), 204);
  let passed = 0;
  for (const { key } of [...made, ...made, ...made, ...made, ...made, ...made])
    if ((await ask(key)).status === 200) passed += 1;
  assert.equal(passed, 22);
  assert.equal((await ask(free.key)).status, 200, "a key without a limit of its own shares nothing");
  await here.service.clock.advance("10m");
  assert.equal((await ask(made[1]?.key ?? "")).status, 200);
});

test("a key with a lower limit counts its own requests and those of the keys that it made; its makers count all", async (t) => {
  const here = await world(t, { seed: withMembers(member("limited", "owner", { rate_limit: 30 })) });
  const ask = async (key: string) => {
    const { status, headers } = await here.call("nobody", "GET", "/v1/me", undefined, bearer(key));
    return [status, headers.get("x-ratelimit-limit"), headers.get("x-ratelimit-remaining")];
  };
  const times = async (count: number, key: string) => {
    for (let i = 1; i < count; i++) await ask(key);
    return ask(key);
  };
  const child = await makeWith(here, "sk_live_limited", { rate_limit: 6 });
  assert.deepEqual(await times(9, "sk_live_limited"), [200, "30", "20"]);
  assert.deepEqual(await ask(child.key), [200, "6", "5"], "requests of its maker are not its own");
  const grandchild = await makeWith(here, child.key, { rate_limit: 2 });
  assert.deepEqual(await times(3, grandchild.key), [429, "2", "0"]);
  assert.deepEqual(await ask(child.key), [200, "6", "1"], "it counts those of the key that it made");
  const heir = await makeWith(here, child.key);
  assert.deepEqual(await ask(heir.key), [429, "6", "0"], "it has the limit of its maker, so it shares its window");
  const wide = await makeWith(here, "sk_live_limited", { rate_limit: 29 });
  assert.deepEqual(await times(13, wide.key), [200, "30", "0"], "the window that is nearest to its end is shown");
  assert.deepEqual(await ask(wide.key), [429, "30", "0"]);
});

test("at most eight limits stand above each other", async (t) => {
  const here = await world(t, { seed: withMembers(member("limited", "owner", { rate_limit: 30 })) });
  let key = "sk_live_limited";
  for (let limit = 29; limit > 22; limit--) ({ key } = await makeWith(here, key, { rate_limit: limit }));
  const lower = await here.call("nobody", "POST", "/v1/api-keys", { name: "x", rate_limit: 22 }, bearer(key));
  assert.deepEqual(pathsOf(expect(lower, 422)), ["rate_limit"]);
  assert.match(lower.body.error.message, /must be left out or 23/);
  await makeWith(here, key, { rate_limit: 23 });
});

test("keys that a key with a limit makes in turn do not exceed it either", async (t) => {
  const here = await world(t, { seed: withMembers(member("limited", "owner", { rate_limit: 20 })) });
  const child = expect(await callAs(here, "limited", "POST", "/v1/api-keys", { name: "child", rate_limit: 5 }), 201);
  const more = await here.call("nobody", "POST", "/v1/api-keys", { name: "x", rate_limit: 6 }, bearer(child.key));
  assert.deepEqual(pathsOf(expect(more, 422)), ["rate_limit"]);
});
