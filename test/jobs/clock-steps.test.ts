import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Options, simulatedDeployments } from "../../lib/index.ts";
import { replaceSystemTime } from "../../lib/kernel/node/system.ts";
import { milliseconds } from "../../lib/kernel/text/duration.ts";
import { onMachineTime } from "../helpers/engine.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const day = milliseconds("1d");
const steps = [
  ["half a second back", -500],
  ["30 s back", -30_000],
  ["an hour back", -milliseconds("1h")],
  ["a day back", -day],
  ["ten years back", -3652 * day],
  ["an hour forward", milliseconds("1h")],
  ["ten years forward", 3652 * day],
] as const;

/** Moves the machine's wall clock by this many milliseconds. Timers and the monotonic clock do not notice. */
function machineClock(t: TestContext): (by: number) => void {
  let offset = 0;
  const { setTimeout, clearTimeout } = globalThis;
  const real = { setTimeout, clearTimeout, now: Date.now, monotonic: performance.now.bind(performance) };
  replaceSystemTime({ ...real, now: () => Date.now() + offset });
  t.after(() => replaceSystemTime(real));
  return (by) => {
    offset += by;
  };
}

const durations = { queued: "40ms", building: "80ms", deploying: "40ms", in_progress: "80ms" };
/** A service on the machine's clock with short work, and its log lines about that clock. */
async function running(t: TestContext, more: Options = {}) {
  const logged: string[] = [];
  const warn = (message: string) => void (message.includes("clock") && logged.push(message));
  const here = await world(t, {
    clock: "real",
    logger: { error() {}, warn, info() {}, debug() {} },
    generations: { media: "fast" },
    deployments: { driver: simulatedDeployments(() => ({ durations })) },
    ...more,
  });
  const match = { model: "image-draft" };
  expect(await here.call("owner", "POST", "/_svc/scenarios", { match, outcome: { durations } }), 200);
  return { here, logged };
}

/** Creates a deployment that builds, one queued behind it, and a waiting generation. */
async function work(here: World) {
  const hook = { url: "https://hook.inbox.test/in", events: ["deployment.started"] };
  expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  const { id: project } = await here.project();
  const ids = [(await here.deploy(project)).id, (await here.deploy(project)).id];
  const picture = { model: "image-draft", prompt: "a lake" };
  const generation = expect(await here.call("owner", "POST", "/v1/generations", picture), 201).id;
  await here.service.webhooks.waitFor("deployment.started");
  return [...ids.map((id) => `deployments/${id}`), `generations/${generation}`];
}

const ended = async (here: World, paths: readonly string[]) =>
  Promise.all(
    paths.map(async (path) => expect(await here.call("owner", "GET", `/v1/${path}?wait=5`), 200).status as string),
  );

for (const [name, by] of steps) {
  test(
    `work goes on, and no sooner, where the machine's clock is set ${name} while it runs`,
    onMachineTime,
    async (t) => {
      const set = machineClock(t);
      const { here, logged } = await running(t);
      const paths = await work(here);
      const { id: project } = expect(await here.call("owner", "GET", "/v1/projects"), 200).data[0];
      const began = performance.now();
      set(by);
      assert.deepEqual(await ended(here, paths), ["active", "active", "completed"]);
      assert.ok(performance.now() - began > 160, "the second deployment takes its time");
      const [told, more] = [logged[0] ?? "", logged[1]];
      if (Math.abs(by) > 1_000)
        assert.match(told, by < 0 ? /clock went back by .*, from .* to / : /clock went forward by .*, from .* to /);
      else assert.equal(told, "");
      assert.equal(more, undefined);
      expect(await here.call("owner", "PUT", `/v1/projects/${project}`, {}), 200);
      for (const path of [`projects/${project}`, ...paths.slice(0, 2)]) {
        const { created_at, updated_at, completed_at, deployed_at } = expect(
          await here.call("owner", "GET", `/v1/${path}`),
          200,
        );
        for (const at of [updated_at, completed_at ?? updated_at, deployed_at ?? updated_at])
          assert.ok(at >= created_at, `${path} was created at ${created_at} and changed at ${at}`);
      }
      assert.ok(Math.abs(here.service.clock.now().getTime() - Date.now() - by) < 2_000, "it shows the machine's time");
    },
  );
}

for (const [name, by] of steps.filter(([, by]) => by < 0)) {
  test(`work goes on where the machine's clock shows ${name} when the service starts after a kill`, async (t) => {
    const set = machineClock(t);
    const folder = folderOf(t);
    const killed = join(folder, "killed.db");
    const first = await running(t, { database: join(folder, "svc.db") });
    const paths = await work(first.here);
    for (const end of ["", "-wal", ".key"]) copyFileSync(join(folder, `svc.db${end}`), killed + end);
    await first.here.service.close();
    set(by);
    const second = await running(t, { database: killed });
    assert.deepEqual(await ended(second.here, paths), ["active", "active", "completed"]);
    assert.equal(second.logged.length, by < -1_000 ? 1 : 0, second.logged.join());
    assert.ok(second.here.service.clock.now().getTime() < Date.now() + by + 2_000, "it shows the machine's time");
    await second.here.service.close();
    const third = await running(t, { database: killed });
    assert.deepEqual(third.logged, []);
  });
}

test("a clock that ran fast is called ahead, and not the machine's set back, when the service starts on the machine's clock", async (t) => {
  machineClock(t);
  const database = join(folderOf(t), "svc.db");
  const fast = await running(t, { database, clock: "3600x" });
  const paths = [`deployments/${(await fast.here.deploy((await fast.here.project()).id)).id}`];
  await fast.here.service.close();
  const next = await running(t, { database });
  assert.equal(next.logged.length, 1, next.logged.join());
  assert.match(next.logged[0] ?? "", /^the clock of the database was \w+ ahead of this machine's, because it ran fast/);
  assert.deepEqual(await ended(next.here, paths), ["active"]);
  await next.here.service.close();
  assert.deepEqual((await running(t, { database })).logged, []);
});
