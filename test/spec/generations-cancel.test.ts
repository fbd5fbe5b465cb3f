import assert from "node:assert/strict";
import { test } from "node:test";
import { createGeneration, finishedGeneration, sharedPainter, small } from "../helpers/painter.ts";
import { expect, world } from "../helpers/test-service.ts";

const driver = sharedPainter();
const options = { generations: { driver: driver() } };

for (const [state, by] of [
  ["queued", "0s"],
  ["in_progress", "2s"],
] as const) {
  test(`A ${state} generation is cancelled: failed with the code cancelled, for good`, async (t) => {
    const here = await world(t, options);
    const { id } = await createGeneration(here);
    await here.service.clock.advance(by);
    assert.equal(expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200).status, state);
    const cancelled = expect(await here.call("developer", "POST", `/v1/generations/${id}/cancel`), 200);
    assert.equal(cancelled.status, "failed");
    assert.equal(cancelled.error.code, "cancelled");
    assert.deepEqual([cancelled.output, cancelled.usage], [undefined, { cost_usd: 0 }]);
    await here.service.clock.advance("1h");
    const { meta, ...after } = expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200);
    assert.deepEqual({ ...after, meta: cancelled.meta }, cancelled);
    const again = await here.call("developer", "POST", `/v1/generations/${id}/cancel`);
    assert.equal(expect(again, 409).error.code, "not_cancellable");
    assert.deepEqual(expect(await here.call("owner", "GET", "/v1/usage"), 200).data, []);
  });
}

test("A completed generation cannot be cancelled, and keeps its output", async (t) => {
  const here = await world(t, options);
  const { id } = await finishedGeneration(here);
  const refused = await here.call("owner", "POST", `/v1/generations/${id}/cancel`);
  assert.equal(expect(refused, 409).error.code, "not_cancellable");
  assert.ok(expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200).output);
});

test("Viewers cannot cancel, and generations of other organizations are unknown", async (t) => {
  const here = await world(t, options);
  const { id } = await createGeneration(here);
  expect(await here.call("viewer", "POST", `/v1/generations/${id}/cancel`), 403);
  expect(await here.call("stranger", "POST", `/v1/generations/${id}/cancel`), 404);
  expect(await here.call("stranger", "GET", `/v1/generations/${id}`), 404);
});

test("A cancel makes room for the next in the queue", async (t) => {
  const here = await world(t, { generations: { ...options.generations, concurrency: 1 } });
  const first = await createGeneration(here);
  const second = await createGeneration(here, { ...small, seed: 2 });
  await here.service.clock.advance("1s");
  expect(await here.call("owner", "POST", `/v1/generations/${first.id}/cancel`), 200);
  assert.equal(expect(await here.call("owner", "GET", `/v1/generations/${second.id}`), 200).status, "in_progress");
});

test("A file that a driver returns after the cancel is discarded, and the driver's work is cancelled", async (t) => {
  const told: (string | null)[] = [];
  const calls: (() => Promise<unknown>)[] = [];
  const slow = {
    delay: () => 0,
    submit: async () => {
      for (const call of calls) await call();
      return { state: "done" as const, bytes: Uint8Array.from([1, 2, 3]), cost_usd: 5 };
    },
    poll: async () => ({ state: "failed" as const, message: "is never asked" }),
    cancel: async (_: unknown, handle: string | null) => void told.push(handle),
  };
  const here = await world(t, { generations: { driver: slow } });
  const { id } = await createGeneration(here);
  // The cancel arrives while the driver runs.
  calls.push(async () => expect(await here.call("owner", "POST", `/v1/generations/${id}/cancel`), 200));
  await here.service.settle();
  const { status, error, output } = expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200);
  assert.deepEqual([status, error.code, output], ["failed", "cancelled", undefined]);
  assert.deepEqual(expect(await here.call("owner", "GET", "/v1/usage"), 200).total, { generations: 0, cost_usd: 0 });
  assert.deepEqual(told, [null]);
});

test("A handle that comes after the cancel is cancelled too", async (t) => {
  const told: (string | null)[] = [];
  const calls: (() => Promise<unknown>)[] = [];
  const slow = {
    delay: () => 0,
    submit: async () => {
      for (const call of calls) await call();
      return { state: "running" as const, again_ms: 1000, handle: "job 7" };
    },
    poll: async () => ({ state: "failed" as const, message: "is never asked" }),
    cancel: async (_: unknown, handle: string | null) => void told.push(handle),
  };
  const here = await world(t, { generations: { driver: slow } });
  const { id } = await createGeneration(here);
  calls.push(async () => expect(await here.call("owner", "POST", `/v1/generations/${id}/cancel`), 200));
  await here.service.clock.advance("1m");
  assert.deepEqual(told.sort(), ["job 7", null].sort());
});

test("A driver that the cancel cuts off is no failure in the log", async (t) => {
  const errors: unknown[] = [];
  const calls: (() => Promise<unknown>)[] = [];
  const cut = {
    delay: () => 0,
    submit: async (): Promise<never> => {
      for (const call of calls) await call();
      throw new Error("the generation was cancelled");
    },
    poll: async () => ({ state: "failed" as const, message: "is never asked" }),
    cancel: async () => {},
  };
  const logger = { error: (...all: unknown[]) => void errors.push(all), warn() {}, info() {}, debug() {} };
  const here = await world(t, { generations: { driver: cut }, logger, logLevel: undefined });
  const { id } = await createGeneration(here);
  calls.push(async () => expect(await here.call("owner", "POST", `/v1/generations/${id}/cancel`), 200));
  await here.service.clock.advance("1h");
  assert.equal(expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200).error.code, "cancelled");
  assert.deepEqual(errors, []);
});
