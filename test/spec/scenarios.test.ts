import assert from "node:assert/strict";
import { test } from "node:test";
import { createService, type Log, type NewScenario, simulatedDeployments } from "../../lib/index.ts";
import { deployAndFinish, deploymentNow, logOf, source, states } from "../helpers/deployments.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, forked, keyOf, seed, start, type World, world } from "../helpers/test-service.ts";

const scenarios = "/_svc/scenarios";
const post = (here: World, body: unknown) => here.call("nobody", "POST", scenarios, body);
const fails = { result: "fail" } as const;

test("a scenario decides how matching deployments turn out", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const given = {
    match: { repo: "acme/*", branch: "broken" },
    outcome: {
      ...{ result: "fail", at: "building", message: "npm ERR! 404", durations: { queued: "0s", building: "30s" } },
      logs: [{ level: "warn", message: "3 vulnerabilities" }],
    },
  };
  const { meta: _, ...kept } = expect(await post(here, given), 200);
  assert.match(kept.id, /^scn_/);
  assert.deepEqual(kept, { id: kept.id, ...given, next: null, times: null, used: 0 });
  const broken = await here.deploy(id, source("broken"));
  await here.service.clock.advance("29s");
  assert.equal((await deploymentNow(here, broken.id)).status, "building");
  await here.service.clock.advance("1s");
  assert.equal((await deploymentNow(here, broken.id)).status, "failed");
  const log = await logOf(here, broken.id);
  const has = (level: string, message: string) => log.some((line) => line.level === level && line.message === message);
  assert.ok(has("warn", "3 vulnerabilities") && has("error", "npm ERR! 404"));
  assert.equal((await deployAndFinish(here, id)).status, "active");
  assert.equal(expect(await here.call("nobody", "GET", scenarios), 200).data[0].used, 1);
});

test("each field is matched by its glob, and one that the deployment lacks matches nothing", async (t) => {
  const image = { source: { type: "image", image_url: "ghcr.io/acme/web:1.2" } };
  const tagged = { source: { type: "git", repo: "acme/web", tag: "v1.2.0" } };
  const cases: [match: NewScenario["match"], more: object, fits: boolean][] = [
    [{}, {}, true],
    [{ repo: "acme/w?b" }, {}, true],
    [{ repo: "other/*" }, {}, false],
    [{ branch: "ma*" }, {}, true],
    [{ branch: "*" }, tagged, false],
    [{ tag: "v1.*" }, tagged, true],
    [{ tag: "*" }, {}, false],
    [{ image_url: "ghcr.io/*" }, image, true],
    [{ image_url: "*" }, {}, false],
    [{ environment: "prod*" }, {}, true],
    [{ environment: "staging" }, {}, false],
    [{ repo: "acme/*", branch: "other" }, {}, false],
    [{ model: "*" }, {}, false],
    [{ prompt: "*" }, {}, false],
  ];
  for (const [match, more, fits] of cases) {
    await t.test(`${JSON.stringify(match)} and ${JSON.stringify(more)}`, async (t) => {
      const here = await world(t);
      await here.service.scenarios.add({ match, outcome: fails });
      const { id } = await here.project();
      assert.equal((await deployAndFinish(here, id, more)).status, fits ? "failed" : "active");
      assert.equal((await here.service.scenarios.unused()).length, fits ? 0 : 1);
    });
  }
});

test("the first matching scenario wins, as often as its times say", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  await here.service.scenarios.add({ match: { branch: "main" }, outcome: fails, times: 2 });
  await here.service.scenarios.add({ outcome: { result: "succeed", durations: { building: "1m" } } });
  const all = [];
  for (let i = 0; i < 3; i++) all.push(await here.deploy(id, { environment: `e${i}` }));
  await here.service.clock.advance("50s");
  assert.deepEqual(await states(here, ...all), ["failed", "failed", "building"]);
  assert.deepEqual(
    (await here.service.scenarios.list()).map(({ used }) => used),
    [2, 1],
  );
});

test("next decides the next deployment, once, before all other scenarios", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  await here.service.scenarios.add({ outcome: { result: "fail", at: "deploying" } });
  const { scenarios } = here.service;
  // Not awaited, as in the contract's example: later calls take effect later.
  const added = [
    scenarios.next("generation", fails),
    scenarios.next("deployment", { message: "first", ...fails }),
    scenarios.next("deployment", { result: "succeed" }),
  ];
  const reasons = [];
  for (let i = 0; i < 3; i++) reasons.push((await deployAndFinish(here, id, { environment: `e${i}` })).status);
  assert.deepEqual(reasons, ["failed", "active", "failed"]);
  await Promise.all(added);
  assert.deepEqual(
    (await scenarios.list()).map(({ next, times, used }) => [next, times, used]),
    [
      [null, null, 1],
      ["generation", 1, 0],
      ["deployment", 1, 1],
      ["deployment", 1, 1],
    ],
  );
  assert.equal((await scenarios.unused()).length, 1);
});

test("rolled_back is a failed health check: failed where there is no previous release", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  expect(await post(here, { match: { branch: "sick" }, outcome: { result: "rolled_back" } }), 200);
  assert.equal((await deployAndFinish(here, id, source("sick"))).status, "failed");
  assert.equal((await deployAndFinish(here, id)).status, "active");
  assert.equal((await deployAndFinish(here, id, source("sick"))).status, "rolled_back");
});

test("the table of outcomes: where each fails, with and without a live release, and its usual message", async (t) => {
  type Ending = readonly [status: string, event: string];
  const failed: Ending = ["failed", "deployment.failed"];
  const table: readonly (readonly [NewScenario["outcome"], first: Ending, later: Ending, reason?: string])[] = [
    [{}, ["active", "deployment.succeeded"], ["active", "deployment.succeeded"]],
    [{ result: "fail" }, failed, failed, "the build failed"],
    [{ result: "fail", at: "building" }, failed, failed, "the build failed"],
    [{ result: "fail", at: "deploying" }, failed, failed, "the rollout failed"],
    ...[
      { result: "fail", at: "health_check" } as const,
      { result: "rolled_back" } as const,
      { result: "rolled_back", at: "deploying" } as const,
      { result: "rolled_back", at: "health_check" } as const,
    ].map(
      (outcome) => [outcome, failed, ["rolled_back", "deployment.rolled_back"], "the health check failed"] as const,
    ),
  ];
  for (const [outcome, first, later, message] of table)
    await t.test(JSON.stringify(outcome), async (t) => {
      const here = await world(t);
      const { id } = await here.project();
      for (const ending of [first, later]) {
        expect(await post(here, { next: "deployment", outcome }), 200);
        const ended = await deployAndFinish(here, id);
        const [event] = expect(await here.call("owner", "GET", "/v1/events?per_page=1"), 200).data;
        assert.deepEqual([ended.status, event.event], ending);
        if (ending === failed) assert.equal(event.data.reason, later === failed ? message : "health_check");
        if (message !== undefined) assert.ok((await logOf(here, ended.id)).some((line) => line.message === message));
        assert.equal((await deployAndFinish(here, id)).status, "active");
      }
    });
  const held = await world(t, { deployments: { autoRollback: false } });
  const { id } = await held.project();
  assert.equal((await deployAndFinish(held, id)).status, "active");
  expect(await post(held, { next: "deployment", outcome: { result: "fail", at: "health_check" } }), 200);
  assert.equal((await deployAndFinish(held, id)).status, "failed");
});

test("a deployment keeps its outcome when the scenario is cleared", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  await here.service.scenarios.add({ outcome: fails });
  const deployment = await here.deploy(id);
  assert.deepEqual(expect(await here.call("nobody", "DELETE", scenarios), 200).data, []);
  await here.service.clock.advance("1m");
  assert.equal((await deploymentNow(here, deployment.id)).status, "failed");
  assert.equal((await deployAndFinish(here, id)).status, "active");
});

test("a deployment that is not stored uses no scenario", async (t) => {
  const here = await world(t);
  await here.service.scenarios.next("deployment", fails);
  const body = { project_id: "proj_none", environment: "production", source: source("main").source };
  expect(await here.call("owner", "POST", "/v1/deployments", body), 404);
  assert.equal((await here.service.scenarios.list())[0]?.used, 0);
});

test("scenarios and their outcomes survive a restart, and the close reports unused ones", async (t) => {
  const database = `${folderOf(t)}/data`;
  const warned: string[] = [];
  const quiet = () => {};
  const logger: Log = {
    error: quiet,
    info: quiet,
    debug: quiet,
    warn: (text, { match } = {}) => void warned.push(`${text}: ${match}`),
  };
  const open = () => createService({ database, clock: `manual@${start}`, seed, logger });
  const headers = jsonBearer(keyOf("owner"));
  const first = await open();
  const send = async (path: string, body: object) => {
    const response = await first.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as { id: string };
  };
  const project = await send("/v1/projects", { name: "web", region: "eu" });
  await first.scenarios.add({ match: { branch: "main" }, outcome: fails });
  await first.scenarios.add({ match: { branch: "none" }, outcome: fails });
  const body = { project_id: project.id, environment: "production", source: source("main").source };
  const { id } = await send("/v1/deployments", body);
  await first.close();
  assert.deepEqual(
    warned.filter((text) => /scenario/.test(text)),
    ['a scenario was not used: {"branch":"none"}'],
  );
  const second = await open();
  t.after(() => second.close());
  await second.clock.advance("1m");
  const deployment = await second.fetch(`/v1/deployments/${id}`, { headers });
  assert.match(await deployment.text(), /"status":"failed"/);
  assert.deepEqual(
    (await second.scenarios.list()).map(({ used }) => used),
    [1, 0],
  );
});

test(
  "the close of a fork reports its own unused scenarios alone, and that of its parent all of its own",
  withSnapshots,
  async (t) => {
    const warned: string[] = [];
    const quiet = () => {};
    const warn = (text: string, { match }: { match?: unknown } = {}) => void warned.push(`${text}: ${match}`);
    const here = await world(t, { logger: { error: quiet, info: quiet, debug: quiet, warn } });
    const add = ({ service }: World, branch: string) => service.scenarios.add({ match: { branch }, outcome: fails });
    const told = (branch: string) => `a scenario was not used: {"branch":"${branch}"}`;
    await add(here, "parent");
    const { id } = await here.service.snapshot();
    const fork = await forked(t, here);
    await add(fork, "fork");
    const restored = await forked(t, here);
    await restored.service.restore(id);
    for (const one of [fork, restored]) await one.service.close();
    assert.deepEqual(warned.splice(0), [told("fork")]);
    await here.service.restore(id);
    await here.service.close();
    assert.deepEqual(warned, [told("parent")]);
  },
);

test("a driver that takes no scenarios uses none", async (t) => {
  const { takesScenarios: _, ...driver } = simulatedDeployments();
  const here = await world(t, { deployments: { driver } });
  const { id } = await here.project();
  await here.service.scenarios.next("deployment", fails);
  assert.equal((await deployAndFinish(here, id)).status, "active");
  assert.equal((await here.service.scenarios.unused()).length, 1);
});
