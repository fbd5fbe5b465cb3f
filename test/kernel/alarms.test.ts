import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createClock } from "../../lib/kernel/clock.ts";

const start = Date.parse("2026-01-01T00:00:00Z");

/** The machine's time in the test's hand. */
const machine = (t: TestContext) => t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: start });

test("alarms of a standing clock ring when it is moved, in order, once, and not where they were taken back", () => {
  const clock = createClock(`manual@${new Date(start).toISOString()}`);
  const rung: string[] = [];
  clock.alarm(start + 2_000, () => rung.push("two"));
  const back = clock.alarm(start + 1_500, () => assert.fail("it was taken back by the one before"));
  clock.alarm(start + 1_000, () => {
    rung.push("one");
    back();
  });
  clock.alarm(start + 9_000, () => rung.push("nine"));
  clock.alarm(start, () => rung.push("now"));
  assert.deepEqual(rung, []);
  clock.moveTo(start + 5_000);
  assert.deepEqual(rung, ["now", "one", "two"]);
  clock.moveTo(start + 9_000);
  assert.deepEqual(rung, ["now", "one", "two", "nine"]);
});

for (const [setting, real_ms] of [
  ["real", 300_000],
  ["60x", 5_000],
  ["0.5x", 600_000],
] as const) {
  test(`an alarm of the clock ${setting} rings by itself, however far off it is`, (t) => {
    machine(t);
    const clock = createClock(setting);
    let rung = 0;
    clock.alarm(start + 300_000, () => {
      rung += 1;
    });
    for (let left = real_ms - 1; left > 0; left -= 60_000) t.mock.timers.tick(Math.min(left, 60_000));
    assert.equal(rung, 0);
    t.mock.timers.tick(1);
    assert.equal(rung, 1);
    t.mock.timers.tick(60_000);
    assert.equal(rung, 1);
  });
}

test("an alarm of a clock that was frozen waits for it to be moved", (t) => {
  machine(t);
  const clock = createClock("real");
  let rung = 0;
  clock.alarm(start + 1_000, () => {
    rung += 1;
  });
  clock.freeze();
  t.mock.timers.tick(60_000);
  assert.equal(rung, 0);
  clock.moveTo(start + 1_000);
  assert.equal(rung, 1);
});
