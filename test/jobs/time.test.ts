import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { type TestContext, test } from "node:test";
import * as v from "valibot";
import { deployment as shape } from "../../lib/features/deployments/schema.ts";
import type { Options } from "../../lib/index.ts";
import { byBranch, deployAndFinish, deploymentNow, source, withOutcomes } from "../helpers/deployments.ts";
import { onSqlite } from "../helpers/engine.ts";
import { bearer, jsonBearer } from "../helpers/headers.ts";
import { keyOf, world } from "../helpers/test-service.ts";
import { firstOf } from "../helpers/until.ts";

test("one advance covers ten years, with every job that falls due in them", async (t) => {
  const long = { durations: { queued: "700d", building: "1200d", deploying: "365d" } };
  const here = await world(t, withOutcomes(byBranch({ slow: long })));
  const { id } = await here.project();
  const slow = await here.deploy(id, source("slow"));
  const line: { id: string }[] = [];
  for (let i = 0; i < 50; i++) line.push(await here.deploy(id, { environment: `e${i % 5}` }));
  const { now, ran } = await here.service.clock.advance("3650d");
  assert.equal(now, "2035-12-30T00:00:00.000Z");
  assert.ok(ran >= 3650 + 3 + 150, String(ran));
  for (const deployment of line) assert.equal((await deploymentNow(here, deployment.id)).status, "active");
  const { status, completed_at } = await deploymentNow(here, slow.id);
  assert.deepEqual([status, completed_at], ["active", "2032-03-15T00:00:00.000Z"]);
});

test("a wait may be longer than the longest timer", async (t) => {
  const here = await world(
    t,
    withOutcomes(() => ({ durations: { building: "60d" } })),
  );
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  await here.service.clock.advance("60d");
  assert.equal((await deploymentNow(here, deployment.id)).status, "building");
  await here.service.clock.advance("3s");
  assert.equal((await deploymentNow(here, deployment.id)).status, "active");
});

/** A service on a port under a running clock, and a function that waits for the end of a deployment. */
async function running(t: TestContext, options: Options) {
  const here = await world(t, { rateLimit: 1_000_000, ...options });
  const { url } = await here.service.listen();
  const headers = jsonBearer(keyOf("developer"));
  const ended = (id: string) =>
    firstOf(async () => {
      const response = await fetch(`${url}/v1/deployments/${id}?wait=60`, { headers });
      const { completed_at, ...deployment } = v.parse(shape, await response.json());
      return completed_at === null ? undefined : { ...deployment, completed_at };
    });
  return { ...here, here, ended };
}
const few = { durations: { queued: "2ms", building: "3ms", deploying: "2ms" } };

test(
  "an idle process wakes once a minute at most",
  onSqlite("jobs of other processes are polled each second"),
  async (t) => {
    const waits: number[] = [];
    const hook = createHook({
      init: (_id, type, _trigger, timer) => {
        if (type === "Timeout") waits.push((timer as { _idleTimeout: number })._idleTimeout);
      },
    });
    hook.enable();
    t.after(() => hook.disable());
    const here = await world(t, { clock: "real", ...withOutcomes(() => few) });
    const atRest = waits.splice(0);
    assert.ok(atRest.length > 0, "the next periodic job is waited for");
    assert.deepEqual(
      atRest.filter((wait) => wait < 60_000),
      [],
    );
    await here.deploy((await here.project()).id);
    assert.notDeepEqual(
      waits.filter((wait) => wait < 60_000),
      [],
      "and where something is, sooner",
    );
  },
);

test("under the real clock", async (t) => {
  await t.test("a deployment progresses by itself", async (t) => {
    const { here, project, deploy, ended } = await running(t, { clock: "real", ...withOutcomes(() => few) });
    const { id } = await project();
    const deployment = await ended((await deploy(id)).id);
    assert.equal(deployment.status, "active");
    const waited = Date.parse(deployment.completed_at) - Date.parse(deployment.created_at);
    assert.ok(waited >= 7, `${waited} ms`);
    const names = ["project.created", "deployment.queued", "deployment.started", "deployment.succeeded"];
    assert.deepEqual(await here.events(), names);
  });

  await t.test("a queue of deployments runs one after the other", async (t) => {
    const { project, deploy, ended } = await running(t, { clock: "real", ...withOutcomes(() => few) });
    const { id } = await project();
    const line = await Promise.all(Array.from({ length: 5 }, () => deploy(id)));
    const all = await Promise.all(line.map((one) => ended(one.id)));
    const ids = all.map((one) => one.id).sort();
    const inOrder = ids.map((one) => all.find((deployment) => deployment.id === one)?.completed_at);
    assert.deepEqual(inOrder, [...inOrder].sort());
    for (const deployment of all) assert.equal(deployment.status, "active");
  });

  await t.test("a failure is announced as under any clock", async (t) => {
    const broken = { ...few, result: "fail", at: "building", message: "no" } as const;
    const { here, project, deploy, ended } = await running(t, { clock: "real", ...withOutcomes(() => broken) });
    const { id } = await project();
    assert.equal((await ended((await deploy(id)).id)).status, "failed");
    assert.equal((await here.events()).at(-1), "deployment.failed");
  });

  await t.test("settle runs due jobs and waits for running ones", async (t) => {
    const none = { durations: { queued: "0ms", building: "0ms", deploying: "0ms" } };
    const here = await world(t, { clock: "real", ...withOutcomes(() => none) });
    const { id } = await here.project();
    // On PostgreSQL, the loop may be claiming the next job of a deployment when one of its jobs ends.
    for (let i = 0; i < 20; i++) {
      const deployment = await here.deploy(id);
      await here.service.settle();
      assert.equal((await deploymentNow(here, deployment.id)).status, "active");
    }
  });

  await t.test("the clock cannot be moved", async (t) => {
    const here = await world(t, { clock: "real" });
    await assert.rejects(here.service.clock.advance("1h"));
  });
});

test("under a clock of a thousand times the speed", async (t) => {
  await t.test("the usual six seconds pass hundreds of times as fast as the system time", async (t) => {
    const { here, project, deploy, ended } = await running(t, { clock: "1000x" });
    const [began, first] = [Date.now(), here.service.clock.now().getTime()];
    const { id } = await project();
    const deployment = await ended((await deploy(id)).id);
    assert.equal(deployment.status, "active");
    const waited = Date.parse(deployment.completed_at) - Date.parse(deployment.created_at);
    assert.ok(waited >= 6000, `${waited} ms`);
    // Compares the two clocks, because a slow machine makes both longer.
    const passed = here.service.clock.now().getTime() - first;
    assert.ok(passed > 0.2 * 1000 * (Date.now() - began), `${passed} ms passed`);
  });
});

test("closing a service with waiting work keeps the work and leaves nothing behind", async (t) => {
  const here = await world(t, { clock: "real" });
  const { id } = await here.project();
  await here.deploy(id);
  await here.service.close();
  await here.service.close();
  const headers = bearer(keyOf("owner"));
  const response = await here.service.fetch("/v1/projects", { headers });
  assert.equal(response.status, 503);
  assert.ok(response.headers.get("retry-after"));
});

test("an advance that is called while another one runs comes after it", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  // Deployed before the first advance: a database may run a deployment and an advance in either order.
  await here.deploy(id);
  const first = Promise.all([here.service.clock.advance("1s")]);
  const answers = await Promise.all([first, here.service.clock.advance("6s")]);
  assert.equal(answers[1].now, "2026-01-01T00:00:07.000Z");
  assert.equal((await deployAndFinish(here, id)).status, "active");
});
