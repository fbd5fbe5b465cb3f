import assert from "node:assert/strict";
import { test } from "node:test";
import { createLoop } from "../../lib/jobs/loop.ts";
import type { Runner } from "../../lib/jobs/runner.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { createLog } from "../../lib/kernel/log.ts";
import { blocker } from "../helpers/deployments.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { turns } from "../helpers/pauses.ts";

test("a job that becomes due right after a claim does not wait for a long one to end", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: Date.parse("2026-01-01T00:00:00Z") });
  const clock = createClock("real");
  const log = createLog("error", (_, message, fields) => assert.fail(`${message}: ${JSON.stringify(fields)}`));
  const [long, began] = [blocker(), blocker()];
  const due = [{ id: "job_long" }];
  const later = { id: "job_next", at: clock.now() + 1 };
  let hasLater = true;
  const runner = {
    reclaim: async () => {},
    async claim() {
      if (due.length > 0) return due.splice(0);
      if (!hasLater || later.at > clock.now()) return [];
      hasLater = false;
      return [later];
    },
    async next() {
      if (!hasLater) return undefined;
      // A millisecond passes between the claim and this query.
      if (clock.now() < later.at) t.mock.timers.tick(1);
      return later.at;
    },
    run: async ({ id }: { readonly id: string }) => (id === "job_long" ? long.passed : began.open()),
  } as unknown as Runner;
  const loop = createLoop({ clock, runner, log, storeClock: async () => {} });
  await loop.start("after a crash");
  await turns(3);
  assert.equal(hasLater, true);
  t.mock.timers.tick(5);
  await began.passed;
  assert.equal(hasLater, false);
  long.open();
  await loop.stop();
});
