import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createRateLimits } from "../../lib/http/rate-limit.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { createStore } from "../../lib/store/store.ts";
import { emptyDatabase } from "./databases.ts";

/** Two processes that count in the same rows, and a function that reads the count. */
async function twoProcesses(t: TestContext, limit: number) {
  const { url, ask } = await emptyDatabase(t);
  const clock = createClock("manual@2026-01-01T00:00:00Z");
  const open = async () => {
    const { engine, cluster } = await openPostgres(url, { isServer: true });
    const store = createStore(engine);
    t.after(() => store.close());
    const windows = createRateLimits({ store, clock, dirty: () => {}, counters: cluster?.counters });
    return {
      take: async (count: number) =>
        (
          await Promise.all(Array.from({ length: count }, async () => (await windows.take("key_a", limit)).allowed))
        ).filter((allowed) => allowed).length,
      flush: () => store.transaction("rows", (tx) => windows.flush(tx)),
    };
  };
  const [one, two] = [await open(), await open()];
  const counted = async () => ((await ask("select requests from rate_windows"))[0] as { requests: number }).requests;
  return { clock, one, two, counted };
}

test("requests that a process counted ahead and did not get go back, and the limit holds to the last one", async (t) => {
  const limit = 3_000;
  const { clock, one, two, counted } = await twoProcesses(t, limit);
  for (const process of [one, two]) for (let i = 0; i < 150; i++) assert.equal(await process.take(1), 1);
  assert.ok((await counted()) > 300, "each has counted some ahead");
  await one.flush();
  await two.flush();
  assert.equal(await counted(), 300);

  // Both take at once, more than the window has left.
  const allowed = await Promise.all([one.take(2_000), two.take(2_000)]);
  await one.flush();
  await two.flush();
  const rest = (await one.take(100)) + (await two.take(100));
  assert.equal(allowed[0] + allowed[1] + rest, limit - 300);
  assert.equal(await counted(), limit);
  clock.moveTo(clock.now() + 600_000);
  assert.equal(await one.take(1), 1);
});

test("a process whose count is old counts none of the last thousand ahead", async (t) => {
  const { one, two, counted } = await twoProcesses(t, 10_000);
  assert.equal(await one.take(100), 100);
  await one.flush();
  for (let i = 0; i < 10; i++) assert.equal(await two.take(940), 940);
  await two.flush();
  assert.equal(await counted(), 9_500);
  assert.equal(await one.take(60), 60);
  assert.equal(await counted(), 9_560, "nothing that others cannot have");
});
