import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { isPostgres } from "../helpers/engine.ts";
import { type ListeningWorld, listeningWorld } from "../helpers/raw-sockets.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

/**
 * Sends a request without its body; the server's `100 Continue` shows that the caller is authenticated. Returns a
 * function that sends the body.
 */
async function beginWrite({ port }: ListeningWorld, key = keyOf("admin")) {
  const text = JSON.stringify({ name: "web", region: "eu-west-1" });
  const sent = request({
    ...{ host: "127.0.0.1", port, method: "POST", path: "/v1/projects" },
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": text.length,
      expect: "100-continue",
    },
  });
  sent.flushHeaders();
  await once(sent, "continue");
  return async () => {
    const answered = once(sent, "response");
    sent.end(text);
    const [answer] = await answered;
    const body = JSON.parse((await answer.toArray()).join("")) as { error?: { code: string; message: string } };
    return { status: answer.statusCode as number, ...body.error };
  };
}

const idOf = async ({ call }: ListeningWorld, name: string) => {
  const { data } = expect(await call("owner", "GET", "/v1/users"), 200);
  return data.find((user: { name: string }) => user.name === name).id as string;
};

/** A world with a second connection to its database, like that of another process. */
async function withSecondConnection(t: TestContext) {
  const database = join(folderOf(t), "svc.db");
  const here = await listeningWorld(t, { database });
  const other = new Database(database);
  t.after(() => other.close());
  return { here, other };
}

test("rights that end during a write are not used", async (t) => {
  const here = await listeningWorld(t);
  const id = await idOf(here, "admin");
  const finish = await beginWrite(here);
  expect(await here.call("owner", "POST", `/v1/users/${id}/suspend`), 200);
  assert.deepEqual([(await finish()).status, (await here.events()).includes("project.created")], [401, false]);
});

test("a refusal after a change of role during a write names the new role", async (t) => {
  const here = await listeningWorld(t);
  const id = await idOf(here, "admin");
  const finish = await beginWrite(here);
  expect(await here.call("owner", "PUT", `/v1/users/${id}`, { role: "viewer" }), 200);
  const { status, code, message } = await finish();
  assert.deepEqual([status, code], [403, "insufficient_role"]);
  assert.match(message ?? "", /has changed to viewer/);
});

test("a write that shares a commit with the end of its rights is refused", async (t) => {
  const here = await listeningWorld(t);
  const { call } = here;
  const id = await idOf(here, "admin");
  const [ended, late] = await Promise.all([
    call("owner", "POST", `/v1/users/${id}/suspend`),
    call("admin", "POST", "/v1/projects", { name: "web", region: "eu-west-1" }),
  ]);
  assert.equal(ended.status, 200);
  // On PostgreSQL both calls commit separately, in any order: the write comes before the suspension, or is refused.
  assert.ok((isPostgres ? [201, 401] : [401]).includes(late.status), `${late.status}`);
  const { data } = expect(await call("owner", "GET", "/v1/projects"), 200);
  assert.equal(data.length, late.status === 201 ? 1 : 0);
  const next = await call("admin", "POST", "/v1/projects", { name: "late", region: "eu-west-1" });
  assert.equal(next.status, 401);
});

test("a write that shares a commit with a change of another user's rights is done", async (t) => {
  const here = await listeningWorld(t);
  const { call } = here;
  const id = await idOf(here, "viewer");
  const [ended, made] = await Promise.all([
    call("owner", "POST", `/v1/users/${id}/suspend`),
    call("admin", "POST", "/v1/projects", { name: "web", region: "eu-west-1" }),
  ]);
  assert.deepEqual([ended.status, made.status], [200, 201]);
});

test("a key that expires during a write is not used", async (t) => {
  const here = await listeningWorld(t);
  const expires_at = new Date(here.service.clock.now().getTime() + 60_000).toISOString();
  const { key } = expect(await here.call("admin", "POST", "/v1/api-keys", { name: "brief", expires_at }), 201);
  const finish = await beginWrite(here, key);
  await here.service.clock.advance("1m");
  assert.equal((await finish()).status, 401);
});

test("a key that another process revokes during a write is not used", async (t) => {
  const { here, other } = await withSecondConnection(t);
  const finish = await beginWrite(here);
  other.prepare("delete from api_keys where name = 'admin'").run();
  assert.equal((await finish()).status, 401);
});

test("other writes of another process do not stop a write", async (t) => {
  const { here, other } = await withSecondConnection(t);
  const finish = await beginWrite(here);
  other.prepare("delete from api_keys where name = 'viewer'").run();
  assert.equal((await finish()).status, 201);
});
