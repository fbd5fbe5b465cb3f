import assert from "node:assert/strict";
import { test } from "node:test";
import { createDashboardAccess } from "../../lib/dashboard/access.ts";
import { createAuthenticator } from "../../lib/http/authenticate.ts";
import { createRateLimits } from "../../lib/http/rate-limit.ts";
import type { RequestContext } from "../../lib/http/request-context.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { openMemory } from "../../lib/store/sqlite/database-files.ts";
import { createStore } from "../../lib/store/store.ts";

test("a count schedules one write until it is flushed; another process continues from the stored count", async (t) => {
  const store = createStore(openMemory().engine);
  t.after(() => store.close());
  const clock = createClock("manual@2026-01-01T00:00:00Z");
  let notices = 0;
  const dirty = () => {
    notices += 1;
  };
  const process = () => createRateLimits({ store, clock, dirty });
  const windows = process();
  const take = async (from = windows) => (await from.take("key_a", 10)).remaining;
  assert.deepEqual([await take(), await take(), notices], [9, 8, 1]);
  await store.transaction("all", (tx) => windows.flush(tx));
  assert.deepEqual([await take(), await take(), notices], [7, 6, 2]);
  assert.equal(await take(process()), 7, "the two that were not written are forgotten");
  assert.equal(notices, 3);
  clock.moveTo(clock.now() + 600_000);
  assert.deepEqual([await take(), notices], [9, 4]);
});

test("a flood of addresses takes 50,000 buckets and one for all others; keys keep their own", async (t) => {
  const store = createStore(openMemory().engine);
  t.after(() => store.close());
  const clock = createClock("manual@2026-01-01T00:00:00Z");
  const windows = createRateLimits({ store, clock, dirty: () => {} });
  const count = () => windows.save().buckets.length;
  for (let i = 0; i < 50_000; i += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, j) => windows.take(`address ${i + j}`, 10)));
  }
  assert.equal(count(), 50_000);
  for (let i = 0; i < 20; i++) {
    const { allowed } = await windows.take(`address later ${i}`, 10);
    assert.equal(allowed, i < 10, "all later ones share a bucket");
  }
  assert.equal(count(), 50_001);
  assert.equal((await windows.take("key_a", 10)).remaining, 9);
  assert.equal((await windows.take("address 0", 10)).remaining, 8, "earlier ones keep theirs");
  const authenticator = createAuthenticator({
    identify: () => undefined,
    watchKey: () => () => {},
    windows,
    keyLimit: () => 10,
    addressRateLimit: 10,
  });
  const later = { address: () => "later still", header: () => undefined, method: "POST" } as unknown as RequestContext;
  assert.equal((await authenticator.byKey(later)).refusal?.code, "rate_limited");
  const visit = createDashboardAccess({
    ...{ mode: "start", publicUrl: undefined, behindProxy: true, basePath: "", authenticator, watch: () => () => {} },
    ...{ identify: () => undefined, first: async () => "" },
  });
  for (let i = 0; i < 20; i++)
    for (const access of [visit.visit, visit.authenticator.byAddress])
      assert.equal((await access(later)).refusal, undefined, "nobody is kept from signing in");
  assert.equal(count(), 50_002);
  clock.moveTo(clock.now() + 600_000);
  await windows.take("key_a", 10);
  assert.equal(count(), 1, "the next window forgets them");
});
