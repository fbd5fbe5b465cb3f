import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { test } from "node:test";
import { WebSocket } from "ws";
import type { Options } from "../../lib/index.ts";
import { bearer } from "../helpers/headers.ts";
import { member, withMembers } from "../helpers/members.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { lines, listeningWorld, owner } from "../helpers/raw-sockets.ts";
import { openStream, refusedStream } from "../helpers/stream-client.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

test("a stream sends the organization's events and state changes as they happen, and no other's", async (t) => {
  const here = await listeningWorld(t);
  const mine = openStream(t, here);
  const theirs = openStream(t, here, "", bearer(keyOf("stranger")));
  await Promise.all([mine.begun, theirs.begun]);
  const project = await here.project();
  const { id } = await here.deploy(project.id);
  await here.service.clock.advance("1m");
  const messages = await mine.until(8);
  const { data } = expect(await here.call("owner", "GET", "/v1/events"), 200);
  assert.deepEqual(
    messages.filter((one) => one.id),
    data.reverse(),
    "events are those of GET /events",
  );
  assert.deepEqual(
    messages.filter((one) => !one.id).map(({ event, data }) => [event, data.deployment_id, data.status]),
    ["queued", "building", "deploying", "active"].map((status) => ["deployment.status", id, status]),
  );
  await here.call("stranger", "POST", "/v1/projects", { name: "theirs", region: "eu" });
  await theirs.until(1);
  assert.deepEqual(theirs.events(), ["project.created"]);
});

test("the 101 carries the request's id and the window of the key", async (t) => {
  const here = await listeningWorld(t);
  const { socket } = openStream(t, here, "", { ...owner, "x-request-id": "mine" });
  const [response] = (await once(socket, "upgrade")) as [IncomingMessage];
  assert.equal(response.headers["x-request-id"], "mine");
  assert.equal(response.headers["x-ratelimit-limit"], "1000");
  assert.equal(response.headers["x-ratelimit-remaining"], "999");
});

test("?events= sends the named events and nothing else", async (t) => {
  const here = await listeningWorld(t);
  const some = openStream(t, here, "?events=deployment.started,deployment.succeeded");
  const moves = openStream(t, here, "?events=deployment.status");
  await Promise.all([some.begun, moves.begun]);
  await here.deploy((await here.project()).id);
  await here.service.clock.advance("1m");
  await Promise.all([some.until(2), moves.until(4)]);
  assert.deepEqual(some.events(), ["deployment.started", "deployment.succeeded"]);
  assert.deepEqual(new Set(moves.messages.map(({ event }) => event)), new Set(["deployment.status"]));
});

test("?after= continues after an event, without gaps or repeats", async (t) => {
  const here = await listeningWorld(t);
  for (const name of ["one-a", "one-b", "one-c"]) await here.project(name);
  const all = expect(await here.call("owner", "GET", "/v1/events"), 200).data.reverse();
  const stream = openStream(t, here, `?after=${all[0].id}`);
  await Promise.all([stream.opened, here.project("one-d"), here.project("one-e")]);
  const now = expect(await here.call("owner", "GET", "/v1/events"), 200).data.reverse();
  await stream.until(4);
  assert.deepEqual(stream.messages, now.slice(1));
  const none = openStream(t, here, `?after=${now.at(-1).id}`);
  await none.begun;
  await here.project("one-f");
  await none.until(1);
  assert.equal(none.messages[0].data.name, "one-f");
});

test("a stream does not go back further than a thousand events", async (t) => {
  const here = await listeningWorld(t, { rateLimit: 10_000 });
  await here.project("first");
  const [first] = expect(await here.call("owner", "GET", "/v1/events"), 200).data;
  const make = (i: number) => here.call("owner", "POST", "/v1/projects", { name: `project ${i}`, region: "eu" });
  await Promise.all(Array.from({ length: 1_000 }, (_, i) => make(i)));
  const whole = openStream(t, here, `?after=${first.id}`);
  await whole.until(1_000);
  await make(1_000);
  const { code, reason } = await openStream(t, here, `?after=${first.id}`).closed;
  assert.equal(code, 4410);
  assert.match(reason, /GET \/v1\/events/);
});

for (const form of [
  (key: string) => key,
  (key: string) => `Bearer ${key}`,
  (key: string) => JSON.stringify(bearer(key)),
]) {
  test(`the key may be the first message: ${form("sk_live_…")}`, async (t) => {
    const here = await listeningWorld(t);
    const stream = openStream(t, here, "", {});
    await stream.opened;
    stream.socket.send(form(keyOf("viewer")));
    await stream.begun;
    await here.project();
    await stream.until(1);
    assert.deepEqual(stream.events(), ["project.created"]);
  });
}

test("a first message that is no valid key closes with 4401, one without the scope with 4403, too many with 4429", async (t) => {
  const seed = withMembers(
    member("narrow", "owner", { scopes: ["projects:write"] }),
    member("busy", "owner", { rate_limit: 1 }),
  );
  const here = await listeningWorld(t, { seed });
  const first = async (message: string | Buffer) => {
    const stream = openStream(t, here, "", {});
    await stream.opened;
    stream.socket.send(message);
    return (await stream.closed).code;
  };
  for (const wrong of [
    "",
    "hello",
    "sk_live_unknown",
    "{",
    "{}",
    '{"authorization":7}',
    "null",
    Buffer.from([0xff, 0]),
  ])
    assert.equal(await first(wrong), 4401, String(wrong));
  assert.equal(await first("sk_live_narrow"), 4403);
  expect(await here.call("nobody", "GET", "/v1/me", undefined, bearer("sk_live_busy")), 200);
  assert.equal(await first("sk_live_busy"), 4429);
  assert.equal(await first("x".repeat(5_000)), 1009);
});

test("no key within ten seconds closes with 4401", async (t) => {
  const here = await listeningWorld(t);
  mockTime(t, { apis: ["setTimeout"] });
  const stream = openStream(t, here, "", {});
  await stream.opened;
  t.mock.timers.tick(10_000);
  assert.equal((await stream.closed).code, 4401);
});

test("a refused connection gets the ordinary answer", async (t) => {
  const seed = withMembers(
    member("narrow", "owner", { scopes: ["projects:write"] }),
    member("busy", "owner", { rate_limit: 1 }),
  );
  const here = await listeningWorld(t, { seed });
  const of = async (query: string, headers: Record<string, string>) => {
    const { status, body, headers: got } = await refusedStream(here, query, headers);
    assert.equal(body.meta.request_id, got["x-request-id"]);
    assert.match(String(got["x-ratelimit-limit"]), /^\d+$/);
    return [status, body.error.code];
  };
  assert.deepEqual(await of("", bearer("sk_live_wrong")), [401, "unauthorized"]);
  assert.deepEqual(await of("", bearer("sk_live_narrow")), [403, "insufficient_scope"]);
  assert.deepEqual(await of("/", owner), [404, "not_found"]);
  assert.deepEqual(await of("?events=nonsense", owner), [422, "validation_failed"]);
  assert.deepEqual(await of("?events=", owner), [422, "validation_failed"]);
  assert.deepEqual(await of("?events=*&events=*", owner), [422, "validation_failed"]);
  assert.deepEqual(await of("?after=evt_1", owner), [422, "validation_failed"]);
  assert.deepEqual(await of("", { ...owner, host: "evil.test" }), [421, "misdirected_request"]);
  assert.deepEqual(await of("", { ...owner, origin: "https://evil.test" }), [403, "insufficient_role"]);
  assert.deepEqual(await of("", { ...owner, origin: "null" }), [403, "insufficient_role"]);
  expect(await here.call("nobody", "GET", "/v1/me", undefined, bearer("sk_live_busy")), 200);
  assert.deepEqual(await of("", bearer("sk_live_busy")), [429, "rate_limited"]);
  const page = openStream(t, here, "", { ...owner, origin: `http://127.0.0.1:${here.port}` });
  await page.begun;
});

test("a stream is open to the pages that may read /v1, and to the service's own", async (t) => {
  const start = { mode: "start", clock: "real", random: undefined } as const;
  const page = "http://localhost:5173";
  const app = "https://app.example.com";
  const own = "https://svc.example.com";
  const cases: [Options, string[], string[]][] = [
    [{}, [page, "http://app.localhost:3000"], [app, "null"]],
    [{ cors: [app] }, [app], [page]],
    [start, [], [page, app]],
    [{ ...start, publicUrl: `${own}/`, cors: [app] }, [app, own], [page, `${own}:8443`]],
    [{ ...start, cors: "*" }, [page, app, "null"], []],
  ];
  for (const [options, open, closed] of cases) {
    const here = await listeningWorld(t, options);
    for (const origin of [...open, `http://127.0.0.1:${here.port}`])
      await openStream(t, here, "", { ...owner, origin }).begun;
    for (const origin of closed)
      assert.equal((await refusedStream(here, "", { ...owner, origin })).body.error.code, "insufficient_role", origin);
  }
});

test("a plain GET is 426, and another path takes no WebSocket", async (t) => {
  const here = await listeningWorld(t);
  const { status, headers, body } = await here.send("GET", "/v1/stream");
  assert.deepEqual([status, headers.upgrade, body.error.code], [426, "websocket", "upgrade_required"]);
  const socket = new WebSocket(`ws://127.0.0.1:${here.port}/v1/projects`, { headers: owner });
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  assert.equal(response.statusCode, 404);
  response.destroy();
  const bad = ["Host: localhost", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
  for (const key of ["", "Sec-WebSocket-Key: short"])
    assert.match(await here.raw(lines("GET /v1/stream HTTP/1.1", ...bad, ...(key ? [key] : []))), /^HTTP\/1\.1 426 /);
});

test("an offer of another protocol is ignored, with a body too", async (t) => {
  const here = await listeningWorld(t);
  const offer = ["Host: localhost", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"];
  const body = JSON.stringify({ name: "web", region: "eu" });
  const more = ["Content-Type: application/json", `Content-Length: ${body.length}`];
  const last = lines("GET /v1/me HTTP/1.1", "Host: localhost", "Connection: close");
  const text = await here.raw(lines("POST /v1/projects HTTP/1.1", ...offer, ...more) + body + last);
  assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}/g), ["HTTP/1.1 201", "HTTP/1.1 200"]);
});

test("a connection that offers another protocol with every request gathers no listeners", async (t) => {
  const here = await listeningWorld(t);
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ports = new Set<number | undefined>();
  agent.on("free", (socket: Socket) => ports.add(socket.localPort));
  const headers = { ...owner, connection: "Upgrade", upgrade: "h2c" };
  for (let i = 0; i < 20; i++) assert.equal((await here.send("GET", "/v1/me", { headers, agent })).status, 200);
  assert.equal(ports.size, 1);
  assert.deepEqual(warnings, []);
});
