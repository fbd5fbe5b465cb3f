import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createLog } from "../../lib/kernel/log.ts";
import { replaceSystemTime } from "../../lib/kernel/node/system.ts";
import { createCrashRestart } from "../../lib/platform/apps/crash-restart.ts";
import type { Supervisor } from "../../lib/platform/apps/supervisor.ts";
import { settingsRepository } from "../../lib/store/service-state.ts";
import { createStore } from "../../lib/store/store.ts";
import { openTemporaryStore } from "../helpers/temporary-store.ts";

const minute_ms = 60_000;

/** The machine's time, moved by hand. */
function machineTime(t: TestContext): (ms: number) => void {
  const real = { setTimeout, clearTimeout, now: Date.now, monotonic: performance.now.bind(performance) };
  const timers = new Set<{ readonly at: number; readonly run: () => void; unref(): void }>();
  let present = 0;
  const set = (run: () => void, ms: number) => {
    const timer = { at: present + ms, run, unref() {} };
    timers.add(timer);
    return timer;
  };
  const clear = (timer: never) => void timers.delete(timer);
  replaceSystemTime({ ...real, setTimeout: set as never, clearTimeout: clear as never, monotonic: () => present });
  t.after(() => replaceSystemTime(real));
  return (ms) => {
    const end = present + ms;
    for (;;) {
      const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      timers.delete(next);
      present = next.at;
      next.run();
    }
    present = end;
  };
}

test("A server that ran its apps for ten minutes has survived them, and one that ran for less has not", async (t) => {
  const pass = machineTime(t);
  const store = createStore(openTemporaryStore(t).engine);
  const key = { organization_id: "org_1", project_id: "proj_1", environment: "production" };
  const supervisor = { resume: async () => {} } as unknown as Supervisor;
  let releases = 0;
  /** Runs a server for this long, then kills it; returns how many earlier crashes in a row it saw. */
  const runs = async (ms: number): Promise<unknown> => {
    let crashes: unknown = 0;
    const log = createLog("warn", (_, __, fields) => {
      crashes = fields?.["crashes"];
    });
    const crashRestart = createCrashRestart({ store, log, runtimeId: undefined });
    await crashRestart.begin();
    crashRestart.startAll([[key, { deployment_id: "dep_1", slug: "web", hosts: [] }]], supervisor);
    pass(ms);
    releases += 1;
    await crashRestart.starting(`dep_new_${releases}`);
    return crashes;
  };
  assert.equal(await runs(2 * minute_ms), 0);
  assert.equal(await runs(9 * minute_ms), 1);
  assert.equal(await runs(11 * minute_ms), 2);
  assert.equal(await runs(0), 1, "those before the calm server count no more");
});

test("A damaged record of the last crash does not stop a start", async (t) => {
  const store = createStore(openTemporaryStore(t).engine);
  const settings = store.using(settingsRepository);
  await store.transaction("rows", (tx) => settings(tx).write({ name: "apps_of_own", value: "{" }));
  await createCrashRestart({ store, log: createLog("error", () => {}), runtimeId: undefined }).begin();
});
