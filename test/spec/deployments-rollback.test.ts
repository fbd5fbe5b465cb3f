import assert from "node:assert/strict";
import { test } from "node:test";
import {
  byBranch,
  deployAndFinish,
  deploymentNow,
  eventsOf,
  logOf,
  makerOf,
  source,
  withOutcomes,
} from "../helpers/deployments.ts";
import { check, expect, type World, world } from "../helpers/test-service.ts";

const path = ({ id }: { id: string }) => `/v1/deployments/${id}/rollback`;
const tagged = (tag: string) => ({ source: { type: "git", repo: "acme/web", tag } });

/** Releases of the tags v1 to v3 in one environment, with a failed deployment between the first two. */
async function history(world: World) {
  const { id } = await world.project();
  const v1 = await deployAndFinish(world, id, tagged("v1"));
  const failed = await deployAndFinish(world, id, source("broken"));
  const v2 = await deployAndFinish(world, id, tagged("v2"));
  const v3 = await deployAndFinish(world, id, tagged("v3"));
  assert.deepEqual(
    [v1, failed, v2, v3].map(({ status }) => status),
    ["active", "failed", "active", "active"],
  );
  return { project: id, v1, failed, v2, v3 };
}
const options = withOutcomes(byBranch({ broken: { result: "fail" } }));
const rollback = async (world: World, of: { id: string }) =>
  expect(await world.call("developer", "POST", path(of)), 201);

test("POST /deployments/{id}/rollback", async (t) => {
  await check(t, {
    name: "makes a new deployment of the previous version, and leaves the record as it is",
    as: "developer",
    options,
    given: history,
    when: ["POST", ({ v3 }) => path(v3)],
    then: 201,
    events: ["deployment.rolled_back", "deployment.queued"],
    and: async ({ meta: _, ...fresh }, { headers }, world, { v2, v3 }) => {
      const now = world.service.clock.now().toISOString();
      assert.equal(headers.get("location"), `/v1/deployments/${fresh.id}`);
      const { id: _id, deployed_at: _at, ...copied } = v2;
      const created_by = await makerOf(world, "developer");
      const times = { created_at: now, created_by, updated_at: now, completed_at: null };
      assert.deepEqual(fresh, { ...copied, id: fresh.id, status: "queued", version: "v2", ...times });
      assert.deepEqual(await deploymentNow(world, v3.id), v3);
      assert.deepEqual(await deploymentNow(world, v2.id), v2);
    },
  });

  await check(t, {
    name: "announces the rollback and the queued deployment",
    as: "admin",
    options,
    given: history,
    when: ["POST", ({ v3 }) => path(v3)],
    then: 201,
    events: ["deployment.rolled_back", "deployment.queued"],
    and: async ({ id }, _reply, world, { project, v3 }) => {
      const place = { project_id: project, environment: "production", version: "v2" };
      const timestamp = world.service.clock.now().toISOString();
      const rolledBack = { deployment_id: v3.id, ...place, new_deployment_id: id, reason: "manual" };
      const byName = new Map((await eventsOf(world)).slice(-2).map((event) => [event.event, event]));
      assert.deepEqual(Object.fromEntries(byName), {
        "deployment.queued": { event: "deployment.queued", timestamp, data: { deployment_id: id, ...place } },
        "deployment.rolled_back": { event: "deployment.rolled_back", timestamp, data: rolledBack },
      });
    },
  });

  await t.test("the new deployment follows the normal lifecycle, and has its version from the start", async (t) => {
    const here = await world(t, options);
    const { id: project_id } = await here.project();
    const first = await deployAndFinish(here, project_id);
    const second = await deployAndFinish(here, project_id);
    assert.notEqual(first.version, second.version);
    const { id } = await rollback(here, second);
    const story: string[][] = [];
    for (const by of ["0s", "1s", "3s", "2s"]) {
      await here.service.clock.advance(by);
      const { status, version } = await deploymentNow(here, id);
      story.push([status, version]);
    }
    const version = first.version;
    assert.deepEqual(story, [
      ["queued", version],
      ["building", version],
      ["deploying", version],
      ["active", version],
    ]);
    const names = ["deployment.rolled_back", "deployment.queued", "deployment.started", "deployment.succeeded"];
    assert.deepEqual((await here.events()).slice(-4), names);
    const data = (await eventsOf(here)).slice(-2).map((event) => event.data.version);
    assert.deepEqual(data, [version, version]);
    assert.equal((await deploymentNow(here, id)).deployed_at, here.service.clock.now().toISOString());
    assert.ok((await logOf(here, id)).some(({ message }) => message.includes(version)));
  });
});

test("which version a rollback takes", async (t) => {
  type Past = Awaited<ReturnType<typeof history>>;
  const targets: [string, (past: Past) => { id: string }, string][] = [
    ["of the newest, the one before it", ({ v3 }) => v3, "v2"],
    ["of the one before, past the failed one", ({ v2 }) => v2, "v1"],
    ["of a failed one, the newest release before it", ({ failed }) => failed, "v1"],
  ];
  for (const [name, of, version] of targets) {
    await check(t, {
      name,
      as: "developer",
      options,
      given: history,
      when: ["POST", (past) => path(of(past))],
      then: 201,
      events: ["deployment.rolled_back", "deployment.queued"],
      and: (body) => assert.deepEqual([body.version, body.source.tag], [version, version]),
    });
  }

  await check(t, {
    name: "of the first, none: 409, and nothing happens",
    as: "developer",
    options,
    given: history,
    when: ["POST", ({ v1 }) => path(v1)],
    then: [409, "no_previous_version"],
    and: async (_body, _reply, world, { v1 }) => assert.deepEqual(await deploymentNow(world, v1.id), v1),
  });
  for (const [state, by] of [
    ["queued", "0s"],
    ["building", "2s"],
    ["deploying", "5s"],
  ] as const) {
    await check(t, {
      name: `of one that is ${state}, the newest release before it`,
      as: "developer",
      given: async (world) => {
        const { id } = await world.project();
        await deployAndFinish(world, id, tagged("v1"));
        const running = await world.deploy(id);
        await world.service.clock.advance(by);
        assert.equal((await deploymentNow(world, running.id)).status, state);
        return running;
      },
      when: ["POST", (running) => path(running)],
      then: 201,
      events: ["deployment.rolled_back", "deployment.queued"],
      and: ({ version }) => assert.equal(version, "v1"),
    });
  }

  await t.test("a rollback that went active is a release as any other", async (t) => {
    const here = await world(t, options);
    const { v3 } = await history(here);
    const back = await rollback(here, v3);
    await here.service.clock.advance("6s");
    assert.equal((await rollback(here, back)).version, "v3");
  });

  await t.test("other environments and other projects do not count", async (t) => {
    const here = await world(t);
    const [web, shop] = [await here.project("web"), await here.project("shop")];
    await deployAndFinish(here, web.id, { environment: "staging" });
    await deployAndFinish(here, shop.id);
    const only = await deployAndFinish(here, web.id);
    const answer = expect(await here.call("developer", "POST", path(only)), 409);
    assert.equal(answer.error.code, "no_previous_version");
  });

  await t.test("cancelled and failed deployments do not count", async (t) => {
    const here = await world(t, options);
    const { id } = await here.project();
    const cancelled = await here.deploy(id);
    expect(await here.call("developer", "POST", `/v1/deployments/${cancelled.id}/cancel`), 200);
    await deployAndFinish(here, id, source("broken"));
    const only = await deployAndFinish(here, id);
    expect(await here.call("developer", "POST", path(only)), 409);
  });
});

test("who may roll back", async (t) => {
  for (const [who, then] of [
    ["viewer", [403, "insufficient_role"]],
    ["stranger", [404, "not_found"]],
  ] as const) {
    await check(t, {
      name: `a ${who} may not`,
      as: who,
      options,
      given: history,
      when: ["POST", ({ v3 }) => path(v3)],
      then,
    });
  }
});
