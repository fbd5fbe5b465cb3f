import assert from "node:assert/strict";
import { test } from "node:test";
import { createHistory, quantileOf, type Samples } from "../../lib/dashboard/process-history.ts";
import { createMeter } from "../../lib/http/request-metrics.ts";
import { mockTime } from "../helpers/mock-time.ts";

test("a quantile lies in the bucket that holds it", () => {
  assert.equal(quantileOf([0, 0, 0, 0, 0, 0, 0, 0], 0.5), undefined);
  assert.equal(quantileOf([2, 0, 0, 0, 0, 0, 0, 0], 0.5), 0.0005);
  assert.equal(quantileOf([0, 4, 0, 0, 0, 0, 0, 0], 1), 0.005);
  assert.equal(quantileOf([0, 0, 0, 0, 0, 0, 0, 3], 0.99), 10);
});

test("the history holds one hour, with what happened between two samples", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"] });
  const meter = createMeter();
  const count = meter.count("projects.list");
  const closing = new AbortController();
  t.after(() => closing.abort());
  const load = { waiting: 2, running: 1, due_at: Date.now() - 4000 };
  const { read } = createHistory({ meter, jobs: async () => load, now: Date.now, closing: closing.signal });
  for (let i = 0; i < 130; i++) {
    // Each sampling awaits the queue before it sets the next timer.
    await new Promise(setImmediate);
    count(i % 2 ? 200 : 500, 3);
    t.mock.timers.tick(30_000);
  }
  const points = await read();
  assert.equal(points.length, 121);
  assert.ok((points[0]?.seconds_ago ?? 0) <= 3600);
  const last = points.at(-2);
  assert.deepEqual(
    [last?.requests_per_s, last?.jobs_waiting, last?.jobs_running],
    [1 / 30, 2, 1],
    "one request every 30 seconds",
  );
  assert.equal(points.filter(({ failures_per_s }) => failures_per_s > 0).length, 60);
});

test("a restore, which begins a new meter, throws no sample away and counts nothing twice", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"] });
  const samples: Samples = [];
  const begin = (requests: number) => {
    const meter = createMeter();
    const count = meter.count("projects.list");
    const closing = new AbortController();
    t.after(() => closing.abort());
    const jobs = async () => ({ waiting: 0, running: 0, due_at: undefined });
    const { read } = createHistory({ samples, meter, jobs, now: Date.now, closing: closing.signal });
    const turns = async () => {
      for (let i = 0; i < requests; i++) {
        await new Promise(setImmediate);
        count(200, 3);
        t.mock.timers.tick(30_000);
      }
      await new Promise(setImmediate);
      closing.abort();
      return read();
    };
    return turns();
  };
  assert.equal((await begin(5)).length, 6);
  const points = await begin(2);
  assert.equal(points.length, 9);
  assert.ok(points.every(({ requests_per_s, p50_s }) => requests_per_s >= 0 && (p50_s ?? 0) >= 0));
});
