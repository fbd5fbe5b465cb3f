import assert from "node:assert/strict";
import { test } from "node:test";
import { deadline } from "../../lib/drivers/process/deadline.ts";

test("A deadline beyond a minute comes when it is due, though no timer runs longer than a minute", () => {
  let now = 0;
  let next: { at: number; run: () => void } | undefined;
  const timer = (wait: string | number, run: () => void) => {
    next = { at: now + Math.min(Number(wait), 60_000), run };
    return () => {
      next = undefined;
    };
  };
  const passed: number[] = [];
  const step = () => {
    const { at, run } = next ?? { at: now, run: () => {} };
    [now, next] = [at, undefined];
    run();
  };
  deadline(
    150_000,
    () => passed.push(now),
    timer,
    () => now,
  );
  for (let i = 0; i < 4; i++) step();
  assert.deepEqual(passed, [150_000]);
  const cancel = deadline(
    150_000,
    () => passed.push(now),
    timer,
    () => now,
  );
  step();
  cancel();
  for (let i = 0; i < 4; i++) step();
  assert.deepEqual(passed, [150_000]);
});
