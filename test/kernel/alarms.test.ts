import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createClock } from "../../lib/kernel/clock.ts";
import { mockTime } from "../helpers/mock-time.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

/** Mocks the system time. */
const mocked = (t: TestContext) => mockTime(t, { apis: ["setTimeout", "Date"], now: start });

test("alarms of a manual clock fire when it moves, in order, once, and not after they were cancelled", () => {
  const clock = createClock(`manual@${new Date(start).toISOString()}`);
  const fired: string[] = [];
  clock.alarm(start + 2_000, () => fired.push("two"));
  const cancel = clock.alarm(start + 1_500, () => assert.fail("the alarm before cancelled it"));
  clock.alarm(start + 1_000, () => {
    fired.push("one");
    cancel();
  });
  clock.alarm(start + 9_000, () => fired.push("nine"));
  clock.alarm(start, () => fired.push("now"));
  assert.deepEqual(fired, []);
  clock.moveTo(start + 5_000);
  assert.deepEqual(fired, ["now", "one", "two"]);
  clock.moveTo(start + 9_000);
  assert.deepEqual(fired, ["now", "one", "two", "nine"]);
});

for (const [setting, real_ms] of [
  ["real", 300_000],
  ["60x", 5_000],
  ["0.5x", 600_000],
] as const) {
  test(`an alarm of the clock ${setting} fires by itself, however far away it is`, (t) => {
    mocked(t);
    const clock = createClock(setting);
    let fired = 0;
    clock.alarm(start + 300_000, () => {
      fired += 1;
    });
    for (let left = real_ms - 1; left > 0; left -= 60_000) t.mock.timers.tick(Math.min(left, 60_000));
    assert.equal(fired, 0);
    t.mock.timers.tick(1);
    assert.equal(fired, 1);
    t.mock.timers.tick(60_000);
    assert.equal(fired, 1);
  });
}

test("an alarm of a frozen clock waits until the clock moves", (t) => {
  mocked(t);
  const clock = createClock("real");
  let fired = 0;
  clock.alarm(start + 1_000, () => {
    fired += 1;
  });
  clock.freeze();
  t.mock.timers.tick(60_000);
  assert.equal(fired, 0);
  clock.moveTo(start + 1_000);
  assert.equal(fired, 1);
});
