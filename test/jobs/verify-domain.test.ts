import assert from "node:assert/strict";
import { test } from "node:test";
import { createDomains } from "../../lib/features/environments/domains.ts";
import { createQueue } from "../../lib/jobs/queue.ts";
import { jobsRepository } from "../../lib/jobs/repository.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { createIds } from "../../lib/kernel/ids.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { createStore } from "../../lib/store/store.ts";
import { openTemporaryStore } from "../helpers/temporary-store.ts";

const host = "www.example.com";
const environmentOf = (organization_id: string) => ({
  organization_id,
  project_id: `proj_${organization_id}`,
  environment: "production",
});
const [one, other] = [environmentOf("org_1"), environmentOf("org_2")];

test("of two environments that prove a domain at once, the second goes on looking it up", async (t) => {
  const { engine } = openTemporaryStore(t);
  const store = createStore(engine);
  const clock = createClock("manual@2026-01-01T00:00:00Z");
  const queue = createQueue({ store, clock, ids: createIds(clock, createRandom()), wake() {} });
  const domains = createDomains({
    ...{ store, clock, queue, domains: [], ownHosts: [] },
    textRecords: async () => ["svc-domain=org_1", "svc-domain=org_2"],
    verifies: async () => true,
    changed: async () => {},
  });
  const jobs = store.using(jobsRepository);
  const statusOf = async (key: typeof one) => (await domains.of(key))[0]?.status;
  for (const key of [one, other]) await store.transaction(key, (tx) => domains.set(tx, key, [host]));
  const claim = { now: clock.iso(), owner: "test", until: clock.iso() };
  const claimed = await store.transaction("rows", (tx) => jobs(tx).claim(claim));

  // Both lookups are done before either result is stored.
  const outcomes = await Promise.all(claimed.map((row) => domains.verify(JSON.parse(row.args))));
  for (const [i, { id, attempt }] of claimed.entries())
    await store.transaction("all", async (tx) => {
      await jobs(tx).remove({ id, attempt });
      const outcome = outcomes[i];
      assert.ok(outcome?.kind === "done");
      await outcome.write?.(tx);
    });
  assert.deepEqual([await statusOf(one), await statusOf(other)], ["active", "pending"]);
  const next = await jobs().next({});
  assert.equal(next?.run_at, "2026-01-01T00:00:30.000Z");
});
