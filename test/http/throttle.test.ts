import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cancellation } from "../../lib/http/cancellation.ts";
import { lineUp, take, takeTurn, work } from "../../lib/http/throttle.ts";
import { Problem } from "../../lib/kernel/errors.ts";
import { yieldToEventLoop } from "../../lib/kernel/event-loop.ts";
import { mockTime } from "../helpers/mock-time.ts";

test("an organization sends 10,000 entries at once, then 10 a millisecond, in order; others do not wait", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 1_000 });
  for (let i = 0; i < 10_000; i++) assert.equal(takeTurn("org_a"), undefined);
  const order: number[] = [];
  const late = Array.from({ length: 300 }, (_, i) => takeTurn("org_a")?.then(() => order.push(i)));
  assert.equal(late.includes(undefined), false);
  assert.equal(takeTurn("org_b"), undefined);
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms);
    await yieldToEventLoop();
    return order.length;
  };
  assert.equal(await pass(19), 0);
  assert.equal(await pass(1), 200);
  assert.notEqual(takeTurn("org_a"), undefined, "a later caller waits behind the earlier ones");
  assert.equal(await pass(20), 300);
  assert.deepEqual(
    order,
    late.map((_, i) => i),
  );
});

test("an entry of more than 1,000 characters counts as several", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 5_000 });
  assert.equal(takeTurn("org_c"), undefined);
  take("org_c", 9_998, 9_998_000);
  assert.equal(takeTurn("org_c"), undefined);
  take("org_c", 1, 1_000_000);
  let isDone = false;
  const late = takeTurn("org_c")?.then(() => {
    isDone = true;
  });
  t.mock.timers.tick(80);
  await yieldToEventLoop();
  assert.equal(isDone, false);
  for (let passed = 80; passed < 120; passed += 20) {
    t.mock.timers.tick(20);
    await yieldToEventLoop();
  }
  assert.equal(isDone, true);
  await late;
});

const wanted = (control = new AbortController()) => {
  const cancellation: Cancellation = { signal: control.signal, end: () => control.abort() };
  return () => cancellation;
};

test("large bodies of one account are read one after another, with time for others between them", async () => {
  let ticks = 0;
  const read: [string, number][] = [];
  const all = ["a", "b", "c", "d"].map(async (name) => {
    await lineUp("org_d", wanted());
    work("org_d", () => read.push([name, ticks]));
  });
  const other = lineUp("org_e", wanted()).then(() => read.push(["other", ticks]));
  for (; read.length < 5; ticks++) await yieldToEventLoop();
  await Promise.all([...all, other]);
  assert.deepEqual(
    read.map(([name]) => name),
    ["a", "other", "b", "c", "d"],
  );
  const own = read.filter(([name]) => name !== "other").map(([, tick]) => tick);
  assert.equal(new Set(own).size, 4, `in the ticks ${own}`);
});

test("work takes at most half of the time, and a client that leaves the line holds up nobody", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 9_000 });
  await lineUp("org_f", wanted());
  // 600 ms of work, 500 of them at once.
  work("org_f", () => t.mock.timers.tick(600));
  const control = new AbortController();
  const read: string[] = [];
  const left = lineUp("org_f", wanted(control));
  const late = lineUp("org_f", wanted()).then(() => read.push("late"));
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20) {
      t.mock.timers.tick(20);
      await yieldToEventLoop();
    }
  };
  await pass(100);
  control.abort();
  await assert.rejects(left, Problem);
  assert.deepEqual(read, []);
  await pass(200);
  await late;
  assert.deepEqual(read, ["late"]);
});
