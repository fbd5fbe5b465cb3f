import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { EventSubscriber } from "../../lib/http/streams/event-subscriber.ts";
import { hasSnapshots, withSnapshots } from "../helpers/engine.ts";
import { bearer } from "../helpers/headers.ts";
import { member, withMembers } from "../helpers/members.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { listeningWorld, owner } from "../helpers/raw-sockets.ts";
import { openStream } from "../helpers/stream-client.ts";
import { expect } from "../helpers/test-service.ts";

test("a stream ends with its key: user removed, user suspended, key expired", async (t) => {
  const seed = withMembers(
    member("leaver", "viewer"),
    member("removed", "viewer"),
    member("passing", "viewer", { expires_at: "2026-01-01T00:00:01Z" }),
  );
  const here = await listeningWorld(t, { seed });
  const { data } = expect(await here.call("owner", "GET", "/v1/users"), 200);
  const userOf = (wanted: string) => data.find(({ name }: { name: string }) => name === wanted).id;
  const stays = openStream(t, here);
  const leaver = openStream(t, here, "", bearer("sk_live_leaver"));
  const removed = openStream(t, here, "", bearer("sk_live_removed"));
  const passing = openStream(t, here, "", {});
  await passing.opened;
  passing.socket.send("sk_live_passing");
  await Promise.all([stays, leaver, removed, passing].map(({ begun }) => begun));
  expect(await here.call("owner", "POST", `/v1/users/${userOf("leaver")}/suspend`), 200);
  assert.equal((await leaver.closed).code, 4401);
  expect(await here.call("owner", "DELETE", `/v1/users/${userOf("removed")}`), 204);
  assert.equal((await removed.closed).code, 4401);
  await here.service.clock.advance("1s");
  assert.equal((await passing.closed).code, 4401);
  await stays.until(1);
  assert.deepEqual(stays.events(), ["user.removed"]);
});

test("close() ends streams with 1001, those that wait for a key too", { timeout: 9_000 }, async (t) => {
  const here = await listeningWorld(t);
  const stream = openStream(t, here);
  const silent = openStream(t, here, "", {});
  await Promise.all([stream.begun, silent.opened]);
  const closing = here.service.close();
  assert.deepEqual(await stream.closed, { code: 1001, reason: "the service is shutting down or has stopped" });
  assert.equal((await silent.closed).code, 1001);
  await closing;
});

test("the close of one port ends its streams after the grace", { timeout: 9_000 }, async (t) => {
  const here = await listeningWorld(t);
  const other = await here.service.listen({ port: 0 });
  const stream = openStream(t, { ...here, port: other.port });
  await stream.begun;
  await other.close("0s");
  assert.equal((await stream.closed).code, 1006);
  expect(await here.call("owner", "GET", "/v1/me"), 200);
});

test("a restore ends streams with 1001, and says that the state was replaced", withSnapshots, async (t) => {
  const here = await listeningWorld(t);
  const stream = openStream(t, here);
  await stream.begun;
  await here.service.restore((await here.service.snapshot()).id);
  const { code, reason } = await stream.closed;
  assert.deepEqual([code, reason], [1001, "the state of the service was replaced; connect or send the request again"]);
});

test("a connection that answers no ping is cut", async (t) => {
  const here = await listeningWorld(t);
  mockTime(t, { apis: ["setTimeout"] });
  const dead = new WebSocket(`ws://127.0.0.1:${here.port}/v1/stream`, { headers: owner, autoPong: false });
  const closed = once(dead, "close");
  const begun = once(dead, "ping");
  const living = openStream(t, here);
  await Promise.all([begun, living.begun]);
  for (let i = 0; i < 2; i++) {
    const pinged = once(living.socket, "ping");
    t.mock.timers.tick(30_000);
    await pinged;
    // The pong was sent before this request.
    await here.send("GET", "/v1/me");
  }
  const [code] = await closed;
  assert.equal(code, 1006);
  await here.project();
  await living.until(1);
});

test("a slow reader is closed, and its unsent messages are bounded", async (t) => {
  mockTime(t, { apis: ["setTimeout"] });
  const server = new WebSocketServer({ port: 0 });
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  const opened = once(client, "open");
  const [socket] = (await once(server, "connection")) as [WebSocket];
  await opened;
  client.pause();
  const closed = once(client, "close");
  const stream = new EventSubscriber(socket, undefined);
  const message = { event: "project.created", timestamp: "2026-01-01T00:00:00.000Z", data: {} };
  let most = 0;
  for (let i = 0; i < 10_000 && socket.readyState === socket.OPEN; i++) {
    stream.publish(message, "x".repeat(16_384));
    most = Math.max(most, socket.bufferedAmount);
    await new Promise((go) => setImmediate(go));
  }
  assert.equal(socket.readyState, socket.CLOSING);
  assert.ok(most < 1_200_000, `${most} bytes lay unsent`);
  client.resume();
  assert.equal((await closed)[0], 1013);
});

test("an `after` that the present state never gave closes with 4404, and the beginning is always known", async (t) => {
  const here = await listeningWorld(t);
  const newest = async () => expect(await here.call("owner", "GET", "/v1/events"), 200).data[0]?.id;
  await here.call("stranger", "POST", "/v1/projects", { name: "theirs", region: "eu" });
  const theirs = expect(await here.call("stranger", "GET", "/v1/events"), 200).data[0].id;
  await here.service.clock.advance("1h");
  await here.project("before");
  const lost = await newest();
  const all = openStream(t, here, `?after=evt_${"0".repeat(26)}`);
  assert.equal((await all.until(1))[0].id, lost);
  if (hasSnapshots) await here.service.reset();
  const refused = async (after: string) => {
    const { code, reason } = await openStream(t, here, `?after=${after}`).closed;
    assert.equal(code, 4404);
    assert.match(reason, /^there is no event evt_\w+; .* connect again without after$/);
  };
  if (hasSnapshots) await refused(lost);
  await here.service.clock.advance("2h");
  await here.project("later");
  assert.ok((await newest()) > lost);
  if (hasSnapshots) await refused(lost);
  await refused(theirs);
});
