import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeploymentDriver } from "../../lib/index.ts";
import {
  blocker,
  byBranch,
  deployAndFinish,
  deploymentNow,
  eventsOf,
  logOf,
  source,
  states,
  withOutcomes,
} from "../helpers/deployments.ts";
import { check, expect, type World, world } from "../helpers/test-service.ts";

const path = ({ id }: { id: string }) => `/v1/deployments/${id}/cancel`;

/** A deployment, this long after its creation. */
const after = (by: string) => async (world: World) => {
  const { id } = await world.project();
  const deployment = await world.deploy(id, source("broken"));
  await world.service.clock.advance(by);
  return deploymentNow(world, deployment.id);
};

test("POST /deployments/{id}/cancel", async (t) => {
  for (const [state, by] of [
    ["queued", "500ms"],
    ["building", "2s"],
  ] as const) {
    await check(t, {
      name: `cancels what is ${state}, and announces nothing`,
      as: "developer",
      given: after(by),
      when: ["POST", (given) => path(given)],
      then: 200,
      and: async ({ meta: _, ...cancelled }, _reply, world, before) => {
        assert.equal(before.status, state);
        const now = world.service.clock.now().toISOString();
        assert.deepEqual(cancelled, { ...before, status: "cancelled", updated_at: now, completed_at: now });
        assert.equal("deployed_at" in cancelled, false);
        await world.service.clock.advance("1h");
        assert.deepEqual(await deploymentNow(world, before.id), cancelled);
        assert.ok(!(await world.events()).includes("deployment.succeeded"));
        assert.match((await logOf(world, before.id)).at(-1)?.message ?? "", /cancel/i);
      },
    });
  }

  const broken = (outcome: Parameters<typeof byBranch>[0][string]) => withOutcomes(byBranch({ broken: outcome ?? {} }));
  const ended: [string, string, Parameters<typeof check>[1]["options"]][] = [
    ["deploying", "5s", undefined],
    ["active", "6s", undefined],
    ["failed", "6s", broken({ result: "fail", at: "building" })],
  ];
  for (const [state, by, options] of ended) {
    await check(t, {
      name: `refuses what is ${state}, and changes nothing`,
      as: "owner",
      ...(options && { options }),
      given: after(by),
      when: ["POST", (given) => path(given)],
      then: [409, "not_cancellable"],
      and: async (_body, _reply, world, before) => {
        assert.equal(before.status, state);
        assert.deepEqual(await deploymentNow(world, before.id), before);
      },
    });
  }

  await check(t, {
    name: "refuses a deployment that was rolled back",
    as: "owner",
    options: broken({ result: "rolled_back" }),
    given: async (world) => {
      const { id } = await world.project();
      await deployAndFinish(world, id);
      const deployment = await deployAndFinish(world, id, source("broken"));
      assert.equal(deployment.status, "rolled_back");
      return deployment;
    },
    when: ["POST", (given) => path(given)],
    then: [409, "not_cancellable"],
  });
  await check(t, {
    name: "refuses a deployment that was cancelled before",
    as: "owner",
    given: async (world) => {
      const deployment = await after("0s")(world);
      expect(await world.call("owner", "POST", path(deployment)), 200);
      return deployment;
    },
    when: ["POST", path],
    then: [409, "not_cancellable"],
  });
  await check(t, {
    name: "does not know another organization's deployment",
    as: "stranger",
    given: after("0s"),
    when: ["POST", path],
    then: [404, "not_found"],
  });
  await check(t, {
    name: "is not for a viewer",
    as: "viewer",
    given: after("0s"),
    when: ["POST", path],
    then: [403, "insufficient_role"],
  });
});

test("a cancelled deployment frees its slot", async (t) => {
  await t.test("of its environment, at once, when it was building", async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const [first, second, third] = [await here.deploy(id), await here.deploy(id), await here.deploy(id)];
    await here.service.clock.advance("2s");
    expect(await here.call("developer", "POST", path(first)), 200);
    assert.deepEqual(await states(here, first, second, third), ["cancelled", "building", "queued"]);
    await here.service.clock.advance("5s");
    assert.deepEqual(await states(here, first, second, third), ["cancelled", "active", "building"]);
  });

  await t.test("of its environment, when it was first in the queue", async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const [first, second, third] = [await here.deploy(id), await here.deploy(id), await here.deploy(id)];
    await here.service.clock.advance("2s");
    expect(await here.call("developer", "POST", path(second)), 200);
    assert.deepEqual(await states(here, first, second, third), ["building", "cancelled", "queued"]);
    await here.service.clock.advance("4s");
    assert.deepEqual(await states(here, first, second, third), ["active", "cancelled", "building"]);
  });

  await t.test("of the limit over all, which held others back", async (t) => {
    const here = await world(t, { deployments: { concurrency: 1 } });
    const { id } = await here.project();
    const first = await here.deploy(id);
    const second = await here.deploy(id, { environment: "staging" });
    await here.service.clock.advance("2s");
    expect(await here.call("developer", "POST", path(first)), 200);
    assert.deepEqual(await states(here, first, second), ["cancelled", "building"]);
    assert.equal((await eventsOf(here)).at(-1)?.event, "deployment.started");
  });
});

test("a deleted project frees all of its slots at once, however many", async (t) => {
  const concurrency = 70;
  const here = await world(t, { rateLimit: 1_000_000, deployments: { concurrency } });
  const [first, second] = [await here.project("first"), await here.project("second")];
  for (const { id } of [first, second]) {
    for (let i = 0; i < concurrency; i++) await here.deploy(id, { environment: `e${i}` });
  }
  const atWork = async () => {
    const answer = await here.call("viewer", "GET", "/v1/deployments?status=building&per_page=100");
    return expect(answer, 200).data.map(({ project_id }: { project_id: string }) => project_id);
  };
  await here.service.clock.advance("2s");
  assert.deepEqual(await atWork(), Array(concurrency).fill(first.id));
  expect(await here.call("owner", "DELETE", `/v1/projects/${first.id}`), 204);
  await here.service.settle();
  assert.deepEqual(await atWork(), Array(concurrency).fill(second.id));
});

test("a cancel races with the driver", async (t) => {
  await t.test("of two cancels at once, one wins", async (t) => {
    const here = await world(t);
    const deployment = await after("0s")(here);
    const replies = await Promise.all([1, 2, 3].map(() => here.call("developer", "POST", path(deployment))));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 409, 409]);
  });

  await t.test("a build that ends after the cancel changes nothing", async (t) => {
    const entered = blocker();
    const finish = blocker();
    const driver: DeploymentDriver = {
      delay: () => 0,
      async step() {
        entered.open();
        await finish.passed;
        return { state: "done", version: "v1", logs: [{ level: "info", message: "too late" }] };
      },
    };
    const here = await world(t, { deployments: { driver } });
    const { id } = await here.project();
    const deployment = await here.deploy(id);
    const advanced = Promise.all([here.service.clock.advance("1s")]);
    await entered.passed;
    const { meta: _, ...cancelled } = expect(await here.call("developer", "POST", path(deployment)), 200);
    const log = await logOf(here, deployment.id);
    finish.open();
    await advanced;
    await here.service.clock.advance("1h");
    assert.deepEqual(await deploymentNow(here, deployment.id), cancelled);
    assert.deepEqual(await logOf(here, deployment.id), log);
    assert.deepEqual(await here.events(), ["project.created", "deployment.queued", "deployment.started"]);
  });

  await t.test("exactly one of them wins, in any order", async (t) => {
    const here = await world(t, { rateLimit: 1_000_000 });
    const { id } = await here.project();
    const outcomes = new Set<string>();
    for (let round = 0; round < 60; round++) {
      const deployment = await here.deploy(id, { environment: `race-${round}` });
      await here.service.clock.advance("3999ms");
      const advanced = Promise.all([here.service.clock.advance("2001ms")]);
      for (let turns = 0; turns < round % 6; turns++) await here.call("owner", "PUT", `/v1/projects/${id}`, {});
      const { status } = await here.call("developer", "POST", path(deployment));
      await advanced;
      await here.service.clock.advance("1m");
      const final = (await deploymentNow(here, deployment.id)).status;
      assert.equal(final, status === 200 ? "cancelled" : "active");
      assert.ok(status === 200 || status === 409, String(status));
      outcomes.add(final);
    }
    const events = (await eventsOf(here, 0)).map(({ event }) => event);
    assert.ok(!events.includes("deployment.failed"));
    assert.deepEqual([...outcomes].sort(), ["active", "cancelled"]);
  });
});
