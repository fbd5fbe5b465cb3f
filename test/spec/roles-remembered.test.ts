import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { withSnapshots } from "../helpers/engine.ts";
import { bearer } from "../helpers/headers.ts";
import { callAs, member, withMembers } from "../helpers/members.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, forked, type World, world } from "../helpers/test-service.ts";

/** A service caches the callers of keys; no entry may outlive the rows it was read from. */

/** A call that shows the mover's rights: 403 for a viewer, 404 for an admin, 401 with an ended key. */
const removal = ["DELETE", "/v1/projects/none"] as const;
const removing = async (here: World) => (await callAs(here, "mover", ...removal)).status;
const idOf = async ({ call }: World) => {
  const { data } = expect(await call("owner", "GET", "/v1/users?status=active"), 200);
  return data.find(({ name }: { name: string }) => name === "mover").id as string;
};

/**
 * A service with a second connection to its file, like that of another process, and a key that it has just used. Calls
 * go over a socket, since the reads of one turn of the event loop share a snapshot.
 */
async function besideAnother(t: TestContext) {
  const database = join(folderOf(t), "svc.db");
  const seed = withMembers(member("mover", "admin", { name: "mover" }));
  const here = await listeningWorld(t, { database, seed, rateLimit: 100 });
  const other = new Database(database);
  t.after(() => other.close());
  const ask = (...[method, path]: readonly [string, string]) =>
    here.send(method, path, { headers: bearer("sk_live_mover") });
  const removes = async () => (await ask(...removal)).status;
  for (let i = 0; i < 2; i++) assert.equal(await removes(), 404);
  return { here, other, ask, removes };
}

test("what another process changes of a key and its user holds from the next request on", async (t) => {
  const { here, other, ask, removes } = await besideAnother(t);
  const change = (text: string) => assert.equal(other.prepare(text).run().changes, 1, text);
  const limit = async () => (await ask("GET", "/v1/me")).headers["x-ratelimit-limit"];
  assert.equal(await limit(), "100");
  change("update api_keys set rate_limit = 50 where name = 'mover'");
  assert.equal(await limit(), "50");
  change("update users set role = 'viewer' where name = 'mover'");
  assert.equal(await removes(), 403);
  change("update users set role = 'admin' where name = 'mover'");
  assert.equal(await removes(), 404);
  change(`update api_keys set scopes = '["projects:read"]' where name = 'mover'`);
  assert.equal(await removes(), 403);
  change(`update api_keys set scopes = '["*"]' where name = 'mover'`);
  change("update users set status = 'suspended' where name = 'mover'");
  assert.equal(await removes(), 401);
  change("update users set status = 'active' where name = 'mover'");
  assert.equal(await removes(), 404);
  change("update api_keys set expires_at = '2026-01-01T00:00:00.000Z' where name = 'mover'");
  assert.equal(await removes(), 401);
  change("update api_keys set expires_at = '2026-01-01T00:01:00.000Z' where name = 'mover'");
  assert.equal(await removes(), 404);
  await here.service.clock.advance("59s");
  assert.equal(await removes(), 404);
  await here.service.clock.advance("1s");
  assert.equal(await removes(), 401);
});

test("a change of rights that is rolled back changes nothing, and the same change holds once it is committed", async (t) => {
  const { here, other, removes } = await besideAnother(t);
  const id = await idOf(here);
  other.exec("create trigger refuses before update on users begin select raise(abort, 'refused'); end");
  const changes = () =>
    Promise.all([
      here.call("owner", "PUT", `/v1/users/${id}`, { role: "viewer" }),
      here.call("owner", "POST", `/v1/users/${id}/suspend`),
      removes(),
    ]);
  const [demoted, suspended] = await changes();
  assert.deepEqual([demoted.status, suspended.status], [500, 500]);
  for (let i = 0; i < 2; i++) assert.equal(await removes(), 404);
  other.exec("drop trigger refuses");
  assert.equal(await removes(), 404);
  expect(await here.call("owner", "PUT", `/v1/users/${id}`, { role: "viewer" }), 200);
  assert.equal(await removes(), 403);
  expect(await here.call("owner", "POST", `/v1/users/${id}/suspend`), 200);
  assert.equal(await removes(), 401);
});

test("a restored state has its own rights, as has a fork", withSnapshots, async (t) => {
  const here = await world(t, { seed: withMembers(member("mover", "admin")) });
  const id = await idOf(here);
  assert.equal(await removing(here), 404);
  const { id: before } = await here.service.snapshot();
  const late = expect(await here.call("owner", "POST", "/v1/api-keys", { name: "late" }), 201).key as string;
  const asLate = async (one: World) => (await one.call("nobody", "GET", "/v1/me", undefined, bearer(late))).status;
  assert.equal(await asLate(here), 200);
  const fork = await forked(t, here);
  expect(await here.call("owner", "PUT", `/v1/users/${id}`, { role: "viewer" }), 200);
  assert.deepEqual([await removing(here), await removing(fork), await asLate(fork)], [403, 404, 200]);
  expect(await fork.call("owner", "POST", `/v1/users/${id}/suspend`), 200);
  assert.deepEqual([await removing(fork), await removing(here)], [401, 403]);
  await here.service.restore(before);
  assert.deepEqual([await removing(here), await asLate(here)], [404, 401]);
  expect(await here.call("owner", "POST", `/v1/users/${id}/suspend`), 200);
  assert.equal(await removing(here), 401);
  await here.service.reset();
  assert.deepEqual([await removing(here), await asLate(here), await removing(fork)], [404, 401, 401]);
});
