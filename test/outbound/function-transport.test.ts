import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { BackendRequest } from "../../lib/drivers/outbound/backend-request.ts";
import { createFunctionTransport } from "../../lib/drivers/outbound/function-transport.ts";
import { systemTimer } from "../../lib/kernel/clock.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { deferred } from "../helpers/temporary-store.ts";

// A request's timer does not keep the process alive, and these tests have no socket that would.
after(systemTimer("60s", () => {}, { hold: true }));

const now = () => "2026-01-01T00:00:00.000Z";
const backendRequest: BackendRequest = {
  method: "POST",
  url: "https://backend.example/images",
  headers: { "x-a": "b" },
  body: "{}",
  trustedOrigins: [],
  max_bytes: 4,
  timeout_ms: 60_000,
};
const none = { status: null, bytes: Buffer.alloc(0), retry_after_ms: undefined };
const hang = () => deferred<Response>().promise;

test("a backend behind a function has the limits of one behind a socket", async () => {
  const { callBackend } = createFunctionTransport(now);
  const answer = (body: string, init?: ResponseInit) => callBackend(() => new Response(body, init), backendRequest);
  assert.deepEqual(await answer("fine", { status: 201, headers: { "retry-after": "2" } }), {
    status: 201,
    error: null,
    bytes: Buffer.from("fine"),
    retry_after_ms: 2000,
  });
  assert.deepEqual(await answer(""), { ...none, status: 200, error: null });
  const { status, error, bytes } = await answer("too much");
  assert.deepEqual([status, error, String(bytes)], [200, "over 4 bytes", "too "]);
  assert.deepEqual(await callBackend(hang, { ...backendRequest, timeout_ms: 5 }), {
    ...none,
    error: "timeout after 5 ms",
  });
  const dripping = () => new Response(new ReadableStream({ pull: () => deferred().promise }));
  assert.equal((await callBackend(dripping, { ...backendRequest, timeout_ms: 5 })).error, "timeout after 5 ms");
  assert.equal((await callBackend(() => Promise.reject(new Error("no route")), backendRequest)).error, "no route");
  const sync = () => {
    throw new Error("at once");
  };
  assert.equal((await callBackend(sync, backendRequest)).error, "at once");
  for (const wrong of [undefined, null, 200, { status: 200 }, "OK", Response.error()])
    assert.equal(
      (await callBackend(() => wrong as Response, backendRequest)).error,
      "the function must answer a Response",
    );
});

test("an attempt's duration uses the service's clock; a timeout counts in full on a stopped clock", async (t) => {
  mockTime(t, { apis: ["setTimeout"] });
  const request = { url: backendRequest.url, headers: {}, body: "{}" };
  let clock = Date.parse(now());
  const { send } = createFunctionTransport(() => new Date(clock).toISOString());
  const slow = () => {
    clock += 250;
    return new Response(null, { status: 204 });
  };
  const { status, duration_ms } = await send(slow, request);
  assert.deepEqual([status, duration_ms], [204, 250]);
  const failing = () => {
    clock += 40;
    throw new Error("at once");
  };
  assert.equal((await send(failing, request)).duration_ms, 40);
  const standing = send(hang, request);
  t.mock.timers.tick(10_000);
  assert.deepEqual(await standing, { status: null, error: "timeout after 10 s", response: null, duration_ms: 10_000 });
  const running = send(hang, request);
  clock += 10_003;
  t.mock.timers.tick(10_000);
  assert.equal((await running).duration_ms, 10_003);
});

test("an endless response is read no further than its limit", async () => {
  let pulled = 0;
  const cancelled = deferred();
  const pull = (controller: ReadableStreamDefaultController) => {
    pulled += 1;
    controller.enqueue(Buffer.from("abc"));
  };
  const body = new ReadableStream({ pull, cancel: () => cancelled.open() });
  const { error } = await createFunctionTransport(now).callBackend(() => new Response(body), backendRequest);
  await cancelled.promise;
  assert.equal(error, "over 4 bytes");
  assert.ok(pulled <= 4, `${pulled} parts`);
});

test("a signal and closing cancel the call and its request, and later calls are refused", async () => {
  const { callBackend, send, close } = createFunctionTransport(now);
  const control = new AbortController();
  const signals: AbortSignal[] = [];
  const keep = ({ signal }: Request) => {
    signals.push(signal);
    return hang();
  };
  const cancelled = callBackend(keep, { ...backendRequest, signal: control.signal });
  const open = [callBackend(keep, backendRequest), send(keep, { url: backendRequest.url, headers: {}, body: "{}" })];
  control.abort("cancelled");
  assert.equal((await cancelled).error, "cancelled");
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false, false],
  );
  close();
  for (const { error } of await Promise.all(open)) assert.equal(error, "shutting down");
  assert.ok(signals.every(({ aborted }) => aborted));
  assert.equal((await callBackend(keep, backendRequest)).error, "shutting down");
  assert.equal((await callBackend(keep, { ...backendRequest, signal: control.signal })).error, "shutting down");
  assert.equal(signals.length, 3);
});

test("a signal that is already aborted ends the call at once", async () => {
  const signal = AbortSignal.abort("cancelled");
  assert.equal(
    (await createFunctionTransport(now).callBackend(hang, { ...backendRequest, signal })).error,
    "cancelled",
  );
});
