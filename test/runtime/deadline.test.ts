import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { deadline } from "../../lib/kernel/deadline.ts";
import { pause } from "../../lib/platform/runtime/pause.ts";

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

test("A pause ends with its time or its signal, and leaves no listener", async (t) => {
  // The timers do not keep the process alive, so this server does.
  const server = createServer().listen(0);
  t.after(() => server.close());
  const aborting = new AbortController();
  for (let i = 0; i < 20; i++) await pause(1, aborting.signal);
  assert.deepEqual(getEventListeners(aborting.signal, "abort"), []);
  const long = pause(60_000, aborting.signal);
  aborting.abort();
  await long;
  await pause(60_000, aborting.signal);
  assert.deepEqual(getEventListeners(aborting.signal, "abort"), []);
});
