import assert from "node:assert/strict";
import { test } from "node:test";
import { take, takeTurn } from "../../lib/http/throttle.ts";
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
