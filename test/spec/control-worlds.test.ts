import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { createClient } from "../../lib/client.ts";
import { createWorlds } from "../../lib/emulator/worlds.ts";
import { createService, type Options } from "../../lib/index.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { bearer } from "../helpers/headers.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { keyOf, seed } from "../helpers/test-service.ts";

/** An emulator on a port, and calls to a world by its name; without a name, to the emulator itself. */
async function emulator(t: TestContext, more: Options = {}) {
  const service = await createService({ seed, clock: "manual@2026-01-01T00:00:00Z", logLevel: "silent", ...more });
  t.after(() => service.close());
  const { url } = await service.listen();
  const headersOf = (name: string | undefined) => ({
    ...bearer(keyOf("owner")),
    ...(name !== undefined && { "x-svc-world": name }),
  });
  const of = (name?: string) => async (method: string, path: string, body?: object) => {
    const answer = await fetch(url + path, {
      method,
      headers: { ...headersOf(name), ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  return { service, url, of, headersOf };
}

type Call = ReturnType<Awaited<ReturnType<typeof emulator>>["of"]>;

const make = (call: Call, name: string) => call("POST", "/v1/projects", { name, region: "eu-west-1" });
const projects = async (call: Call) =>
  (await call("GET", "/v1/projects")).body.data.map(({ name }: { name: string }) => name);
const timeOf = async (call: Call) => (await call("GET", "/_svc/clock")).body.now;

test("each world begins with the seed, and nobody else sees what it changes", withSnapshots, async (t) => {
  const { of, service, url } = await emulator(t);
  const [main, one, other] = [of(), of("one"), of("other")];
  await make(main, "before");
  assert.deepEqual(await projects(one), [], "it begins at the start, and not at the present");
  await make(one, "mine");
  await Promise.all([make(other, "theirs"), make(main, "after")]);
  assert.deepEqual(await projects(one), ["mine"]);
  assert.deepEqual(await projects(other), ["theirs"]);
  assert.deepEqual(await projects(main), ["after", "before"]);

  const source = { type: "git", repo: "acme/web", tag: "v1" };
  const [{ id: project_id }] = (await one("GET", "/v1/projects")).body.data;
  const { id } = (await one("POST", "/v1/deployments", { project_id, environment: "production", source })).body;
  await one("POST", "/_svc/clock/advance", { by: "1h" });
  assert.equal((await one("GET", `/v1/deployments/${id}`)).body.status, "active");
  assert.equal(await timeOf(one), "2026-01-01T01:00:00.000Z");
  assert.deepEqual([await timeOf(other), await timeOf(main)], Array(2).fill("2026-01-01T00:00:00.000Z"));
  assert.equal((await other("GET", `/v1/deployments/${id}`)).status, 404);

  await one("POST", "/_svc/reset");
  assert.deepEqual(await projects(one), []);
  assert.deepEqual(await projects(other), ["theirs"]);

  const client = createClient({ baseUrl: `${url}/v1`, apiKey: keyOf("owner"), world: "other" });
  assert.equal((await client.projects.list()).data[0]?.name, "theirs");
  const inProcess = await service.fetch("/v1/projects", {
    headers: { ...bearer(keyOf("owner")), "X-Svc-World": "other" },
  });
  assert.equal(((await inProcess.json()) as { data: unknown[] }).data.length, 1);
});

test("deliveries, streams and waits stay in their world", withSnapshots, async (t) => {
  const { url, of, headersOf } = await emulator(t);
  const [main, one] = [of(), of("one")];
  await one("POST", "/v1/webhooks", { url: "https://hook.inbox.test/", events: ["*"] });
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/stream`, { headers: headersOf("one") });
  t.after(() => socket.terminate());
  await once(socket, "ping");
  const message = once(socket, "message");
  await make(main, "unseen");
  const { id: project_id } = (await make(one, "seen")).body;
  assert.match(String((await message)[0]), /seen/);

  const source = { type: "git", repo: "acme/web", tag: "v1" };
  const { id } = (await one("POST", "/v1/deployments", { project_id, environment: "production", source })).body;
  const waiting = one("GET", `/v1/deployments/${id}?wait=30`);
  await one("POST", "/_svc/clock/advance", { by: "1m" });
  assert.equal((await waiting).body.status, "active");
  assert.ok((await one("GET", "/_svc/inbox")).body.data.length > 0);
  assert.deepEqual((await main("GET", "/_svc/inbox")).body.data, []);

  const generation = (await one("POST", "/v1/generations", { model: "image-draft", prompt: "a lake" })).body;
  await one("POST", "/_svc/clock/advance", { by: "1m" });
  const { output: file } = (await one("GET", `/v1/generations/${generation.id}`)).body;
  assert.equal(new URL(file.url).origin, url);
  assert.equal((await fetch(file.url, { headers: headersOf("one") })).status, 200);
  assert.equal((await fetch(file.url)).status, 404);
  assert.equal((await one("GET", "/dashboard")).status, 404);

  assert.deepEqual(
    (await main("GET", "/_svc/worlds")).body.data.map(({ name }: { name: string }) => name),
    ["one"],
  );
  const closed = once(socket, "close");
  assert.deepEqual((await main("DELETE", "/_svc/worlds/one")).body.data, []);
  await closed;
  assert.deepEqual(await projects(one), [], "a removed world begins again");
  assert.equal((await main("DELETE", "/_svc/worlds/two")).status, 404);
});

test("a name that is none is refused, and makes nothing", withSnapshots, async (t) => {
  const { of } = await emulator(t);
  for (const name of ["", "a b", "a/b", "x".repeat(65), "a, b", "%00"]) {
    const { status, body } = await of(name)("GET", "/v1/projects");
    assert.equal(status, 422, name);
    assert.equal(body.error.message, 'X-Svc-World must have 1 to 64 letters, digits, ".", "_" or "-"');
  }
  assert.equal((await of("x".repeat(64))("GET", "/v1/projects")).status, 200);
  assert.deepEqual((await of()("GET", "/_svc/worlds")).body.data.length, 1);
});

test("in the mode start the header means nothing", async (t) => {
  const { of } = await emulator(t, { mode: "start", clock: "real", database: ":memory:" });
  await make(of("one"), "web");
  assert.deepEqual(await projects(of("other")), ["web"]);
});

test("there are a thousand worlds at most, and one goes after an hour without use", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"] });
  let closed = 0;
  const failures: unknown[] = [];
  const made = async () => ({
    state: { wiring: { app: {} as never } },
    iso: () => "",
    close: async () => void closed++,
  });
  const worlds = createWorlds(made, (error) => failures.push(error));
  const busy = await worlds.enter("busy");
  for (let i = 1; i < 1_000; i++) (await worlds.enter(`world-${i}`)).leave();
  await assert.rejects(worlds.enter("one-more"), { code: "limit_reached", message: /there are 1000 worlds already/ });
  (await worlds.enter("world-1")).leave();

  const minutes = (count: number) => {
    for (let i = 0; i < count; i++) t.mock.timers.tick(60_000);
  };
  minutes(59);
  (await worlds.enter("world-1")).leave();
  assert.equal((await worlds.list()).length, 1_000);
  minutes(1);
  assert.deepEqual(
    (await worlds.list()).map(({ name }) => name),
    ["busy", "world-1"],
  );
  busy.leave();
  minutes(60);
  assert.deepEqual([await worlds.list(), closed, failures], [[], 1_000, []]);
  await worlds.enter("again");
  await worlds.close();
  assert.equal(closed, 1_001);
});
