import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedDeployments } from "../../lib/index.ts";
import { blocker, deploymentNow, pathsOf, states } from "../helpers/deployments.ts";
import { expect, start, world } from "../helpers/test-service.ts";

test("instant: no time passes, and settle() runs everything", async (t) => {
  const here = await world(t);
  await here.service.scenarios.add({ outcome: { pace: "instant" } });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  await here.service.settle();
  const { status, completed_at } = await deploymentNow(here, deployment.id);
  assert.deepEqual([status, completed_at], ["active", start]);
});

test("polls: each GET moves a deployment by one state, and time moves it nowhere", async (t) => {
  const here = await world(t);
  await here.service.scenarios.add({ outcome: { pace: "polls" } });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  await here.service.clock.advance("1h");
  const polled = [deployment.status];
  for (let i = 0; i < 4; i++) polled.push((await deploymentNow(here, deployment.id)).status);
  assert.deepEqual(polled, ["queued", "building", "deploying", "active", "active"]);
  assert.deepEqual(await here.events(), [
    "project.created",
    "deployment.queued",
    "deployment.started",
    "deployment.succeeded",
  ]);
});

test("concurrent polls move it by one state each at most", async (t) => {
  const here = await world(t);
  await here.service.scenarios.add({ outcome: { pace: "polls" } });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  const polled = await states(here, deployment, deployment);
  assert.ok(polled.every((state) => ["building", "deploying"].includes(state)));
});

for (const pace of ["polls", "manual"] as const) {
  test(`${pace}: concurrent moves ask the driver once`, async (t) => {
    const building = blocker();
    const asked: string[] = [];
    const own = simulatedDeployments();
    const driver: typeof own = {
      ...own,
      async step(work) {
        asked.push(work.step);
        await building.passed;
        return own.step(work);
      },
    };
    const here = await world(t, { deployments: { driver } });
    await here.service.scenarios.add({ outcome: { pace } });
    const { id: project_id } = await here.project();
    const { id } = await here.deploy(project_id);
    const move = async (): Promise<string> =>
      pace === "polls" ? (await deploymentNow(here, id)).status : here.service.deployments.step(id);
    assert.equal(await move(), "building");
    const moves = [move(), move()];
    await here.service.settle();
    building.open();
    const moved = await Promise.all(moves);
    // One move may start from the state that the other has reached, and go one further.
    assert.ok(moved.includes("deploying"), moved.join());
    if (!moved.includes("active")) assert.equal(await move(), "active");
    assert.deepEqual(asked, ["build", "rollout"]);
  });
}

test("manual: a deployment moves by a tester's step alone", async (t) => {
  const here = await world(t);
  await here.service.scenarios.add({ outcome: { pace: "manual", result: "fail", at: "deploying", message: "no" } });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  await here.service.clock.advance("365d");
  assert.equal((await deploymentNow(here, deployment.id)).status, "queued");
  assert.equal(await here.service.deployments.step(deployment.id), "building");
  await here.service.clock.advance("1h");
  assert.equal((await deploymentNow(here, deployment.id)).status, "building");
  const path = `/_svc/deployments/${deployment.id}/step`;
  const { meta: _, ...told } = expect(await here.call("nobody", "POST", path), 200);
  assert.deepEqual(told, await deploymentNow(here, deployment.id));
  assert.equal(told.status, "deploying");
  assert.equal(await here.service.deployments.step(deployment.id), "failed");
});

test("a stepped deployment keeps its place in the queue: others wait behind it, and it waits for those before it", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const before = await here.deploy(id);
  await here.service.scenarios.next("deployment", { pace: "manual" });
  const stepped = await here.deploy(id);
  const behind = await here.deploy(id);
  assert.equal(await here.service.deployments.step(stepped.id), "queued");
  await here.service.clock.advance("6s");
  assert.deepEqual(await states(here, before, stepped, behind), ["active", "building", "queued"]);
  await here.service.clock.advance("1m");
  assert.deepEqual(await states(here, before, stepped, behind), ["active", "building", "queued"]);
  await here.service.deployments.step(stepped.id);
  await here.service.deployments.step(stepped.id);
  await here.service.clock.advance("1m");
  assert.deepEqual(await states(here, before, stepped, behind), ["active", "active", "active"]);
});

test("work that cannot be stepped", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const timed = await here.deploy(id);
  const step = (id: string) => here.call("nobody", "POST", `/_svc/deployments/${id}/step`);
  assert.deepEqual(pathsOf(expect(await step(timed.id), 422)), ["id"]);
  await here.service.scenarios.next("deployment", { pace: "manual" });
  const ended = await here.deploy(id, { environment: "staging" });
  for (const state of ["building", "deploying", "active"])
    assert.equal(await here.service.deployments.step(ended.id), state);
  const { error } = expect(await step(ended.id), 422);
  assert.equal(error.message, "id must be the id of a deployment that has not ended; this one is active");
  expect(await step("dep_none"), 404);
  await assert.rejects(here.service.deployments.step("dep_none"), { code: "not_found" });
  assert.equal((await deploymentNow(here, timed.id)).status, "queued");
});

test("a stepped deployment can be cancelled", async (t) => {
  const here = await world(t);
  await here.service.scenarios.next("deployment", { pace: "manual" });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  await here.service.deployments.step(deployment.id);
  expect(await here.call("owner", "POST", `/v1/deployments/${deployment.id}/cancel`), 200);
  await assert.rejects(here.service.deployments.step(deployment.id), /has not ended; this one is cancelled/);
});
