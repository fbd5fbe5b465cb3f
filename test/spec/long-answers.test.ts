import assert from "node:assert/strict";
import { Agent, get, type IncomingMessage, ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { mockTime } from "../helpers/mock-time.ts";
import { expect, keyOf, world } from "../helpers/test-service.ts";

/** A service with a generation whose input has 12 MiB: more than sockets hold for a client that does not read. */
async function withLongRecord(t: TestContext) {
  const here = await world(t, { bodyLimit: 16 * 1024 ** 2 });
  const body = { model: "someone/any", image: "i".repeat(12 * 1024 ** 2) };
  const { id } = expect(await here.call("owner", "POST", "/v1/generations", body), 201);
  const { port } = await here.service.listen({ port: 0 });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const open = (path: string, key = keyOf("owner"), by: Agent | false = false) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}` };
      get({ port, path, headers, agent: by }, resolve).on("error", reject);
    });
  return { path: `/v1/generations/${id}`, open, agent };
}

const read = async (response: IncomingMessage) => JSON.parse((await response.toArray()).join(""));

/** Makes timeouts of answers ten times as short. Resolves when one of them has passed. */
function shortenTimeouts(t: TestContext): Promise<void> {
  const { setTimeout } = ServerResponse.prototype;
  return new Promise((passed) => {
    t.mock.method(ServerResponse.prototype, "setTimeout", function shortened(
      this: ServerResponse,
      ms: number,
      late?: () => void,
    ) {
      const notify = () => {
        late?.();
        passed();
      };
      return setTimeout.call(this, ms / 10, late && notify);
    } as typeof setTimeout);
  });
}

test("a client that reads nothing of a long answer for half a minute is dropped, and one that reads is not", async (t) => {
  const { path, open, agent } = await withLongRecord(t);
  const passed = shortenTimeouts(t);
  const first = await open(path, keyOf("owner"), agent);
  const { localPort } = first.socket;
  const whole = await read(first);
  assert.equal(whole.input.image.length, 12 * 1024 ** 2);
  const stalled = await open(path);
  await passed;
  await assert.rejects(read(stalled), /aborted/);
  // The connection of the other one still waits for its next request, after that time.
  const next = await open("/v1/me", keyOf("owner"), agent);
  assert.deepEqual([next.statusCode, next.socket.localPort], [200, localPort]);
});

test("an organization that took long answers waits for its next ones, and others do not", async (t) => {
  const { path, open } = await withLongRecord(t);
  // The machine's time stands still, and moves only once the stranger has been answered.
  mockTime(t, { apis: ["setTimeout", "Date"], now: Math.ceil(performance.now()) });
  await read(await open(path));
  let isAnswered = false;
  const next = open("/v1/me").then((answer) => {
    isAnswered = true;
    return read(answer);
  });
  assert.equal((await open("/v1/me", keyOf("stranger"))).statusCode, 200);
  assert.equal(isAnswered, false);
  const move = () => {
    t.mock.timers.tick(1_000);
    if (!isAnswered) setImmediate(move);
  };
  move();
  await next;
});

test("requests without a key do not wait for long answers of each other", async (t) => {
  const { open } = await withLongRecord(t);
  // A wait for a turn would never end.
  mockTime(t, { apis: ["setTimeout"] });
  for (let i = 0; i < 200; i++) {
    const { openapi } = await read(await open("/v1/openapi.json", ""));
    assert.match(openapi, /^3/);
  }
});
