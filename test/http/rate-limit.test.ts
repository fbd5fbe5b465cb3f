import assert from "node:assert/strict";
import { test } from "node:test";
import { createRateLimits } from "../../lib/http/rate-limit.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { openMemory } from "../../lib/store/database-files.ts";
import { createStore } from "../../lib/store/store.ts";

test("a count asks once to be written, and once more after it was; another process goes on from there", async (t) => {
  const store = createStore(openMemory().engine);
  t.after(() => store.close());
  const clock = createClock("manual@2026-01-01T00:00:00Z");
  let told = 0;
  const dirty = () => {
    told += 1;
  };
  const process = () => createRateLimits({ store, clock, dirty });
  const windows = process();
  const take = async (from = windows) => (await from.take("key_a", 10)).remaining;
  assert.deepEqual([await take(), await take(), told], [9, 8, 1]);
  await store.transaction((tx) => windows.flush(tx));
  assert.deepEqual([await take(), await take(), told], [7, 6, 2]);
  assert.equal(await take(process()), 7, "the two that were not written are forgotten");
  assert.equal(told, 3);
  clock.moveTo(clock.now() + 600_000);
  assert.deepEqual([await take(), told], [9, 4]);
});
