import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeploymentDriver, SimulatedOutcome } from "../../lib/index.ts";
import {
  byBranch,
  deployAndFinish,
  deploymentNow,
  eventsOf,
  logOf,
  source,
  states,
  withOutcomes,
} from "../helpers/deployments.ts";
import { expect, world } from "../helpers/test-service.ts";

const broken = (outcome: SimulatedOutcome, more = {}) => withOutcomes(byBranch({ broken: outcome }), more);
const commit = /^[0-9a-f]{40}$/;

test("a build that fails", async (t) => {
  const here = await world(t, broken({ result: "fail", at: "building", message: "npm ERR! 404" }));
  const { id: project_id } = await here.project();
  const first = await here.deploy(project_id, source("broken"));
  const next = await here.deploy(project_id);
  await here.service.clock.advance("4s");
  const now = here.service.clock.now().toISOString();
  const deployment = await deploymentNow(here, first.id);

  await t.test("is failed and completed, without a version", () => {
    const { meta: _, ...before } = first;
    assert.deepEqual(deployment, { ...before, status: "failed", updated_at: now, completed_at: now });
    assert.equal("deployed_at" in deployment, false);
  });
  await t.test("is announced with its reason", async () => {
    const event = (await eventsOf(here)).find((one) => one.event === "deployment.failed");
    const place = { project_id, environment: "production", version: null };
    const data = { deployment_id: first.id, ...place, reason: "npm ERR! 404" };
    assert.deepEqual(event, { event: "deployment.failed", timestamp: now, data });
  });
  await t.test("says why in its log", async () => {
    const log = await logOf(here, first.id);
    assert.ok(log.some(({ level, message }) => level === "error" && message === "npm ERR! 404"));
  });
  await t.test("lets the next one of the queue start at once", async () => {
    assert.deepEqual(await states(here, first, next), ["failed", "building"]);
  });
  await t.test("stays failed", async () => {
    await here.service.clock.advance("1h");
    assert.deepEqual(await deploymentNow(here, first.id), deployment);
  });
});

test("a rollout that fails by a fatal error is failed, even where a previous release exists", async (t) => {
  const here = await world(t, broken({ result: "fail", at: "deploying", message: "no space left" }));
  const { id } = await here.project();
  const previous = await deployAndFinish(here, id);
  const deployment = await deployAndFinish(here, id, source("broken"));
  assert.equal(deployment.status, "failed");
  assert.match(deployment.version, commit);
  assert.equal("deployed_at" in deployment, false);
  const last = (await eventsOf(here)).at(-1);
  assert.equal(last?.event, "deployment.failed");
  const { version } = deployment;
  const place = { project_id: id, environment: "production", version };
  assert.deepEqual(last?.data, { deployment_id: deployment.id, ...place, reason: "no space left" });
  assert.deepEqual(await deploymentNow(here, previous.id), previous);
});

test("a health check that fails", async (t) => {
  const outcome = { result: "rolled_back", message: "GET /health answered 500" } as const;

  await t.test("without a previous release is failed", async (t) => {
    const here = await world(t, broken(outcome));
    const { id } = await here.project();
    await deployAndFinish(here, id, { environment: "staging" });
    const deployment = await deployAndFinish(here, id, source("broken"));
    assert.equal(deployment.status, "failed");
    const last = (await eventsOf(here)).at(-1);
    assert.equal(last?.event, "deployment.failed");
    const { reason, ...data } = last?.data ?? {};
    const { version } = deployment;
    const place = { project_id: id, environment: "production", version };
    assert.deepEqual(data, { deployment_id: deployment.id, ...place });
    assert.ok(typeof reason === "string" && reason.length > 0);
  });

  await t.test("with a previous release is rolled back, and that release stays live", async (t) => {
    const here = await world(t, broken(outcome));
    const { id } = await here.project();
    const previous = await deployAndFinish(here, id);
    const before = await eventsOf(here);
    const waiting = async () => (await eventsOf(here)).slice(before.length);
    const deployment = await deployAndFinish(here, id, source("broken"));
    const now = here.service.clock.now().toISOString();
    assert.equal(deployment.status, "rolled_back");
    assert.deepEqual([deployment.updated_at, deployment.completed_at], [now, now]);
    assert.match(deployment.version, commit);
    assert.equal("deployed_at" in deployment, false);
    assert.deepEqual(await deploymentNow(here, previous.id), previous);
    const events = await waiting();
    const names = events.map(({ event }) => event);
    assert.deepEqual(names, ["deployment.queued", "deployment.started", "deployment.rolled_back"]);
    const place = { project_id: id, environment: "production", version: previous.version };
    const data = { deployment_id: deployment.id, ...place, new_deployment_id: null, reason: "health_check" };
    assert.deepEqual(events.at(-1), { event: "deployment.rolled_back", timestamp: now, data });
    assert.ok((await logOf(here, deployment.id)).some(({ message }) => message === outcome.message));
  });

  await t.test("is failed after the environment was deleted, until a release is live again", async (t) => {
    const here = await world(t, broken(outcome));
    const { id } = await here.project();
    const kept = await deployAndFinish(here, id);
    const previous = await deployAndFinish(here, id);
    expect(await here.call("developer", "DELETE", `/v1/projects/${id}/environments/production`), 204);
    const deployment = await deployAndFinish(here, id, source("broken"));
    assert.equal(deployment.status, "failed");
    const last = (await eventsOf(here)).at(-1);
    assert.deepEqual([last?.event, last?.data["reason"]], ["deployment.failed", "health_check"]);
    assert.deepEqual(await states(here, kept, previous), ["active", "active"]);
    const back = expect(await here.call("developer", "POST", `/v1/deployments/${deployment.id}/rollback`), 201);
    assert.equal(back.version, previous.version, "a rollback takes the newest that reached active");
    await here.service.clock.advance("1m");
    assert.equal((await deploymentNow(here, back.id)).status, "active");
    assert.equal((await deployAndFinish(here, id, source("broken"))).status, "rolled_back");
  });

  await t.test("is failed with autoRollback: false", async (t) => {
    const here = await world(t, broken(outcome, { autoRollback: false }));
    const { id } = await here.project();
    await deployAndFinish(here, id);
    const deployment = await deployAndFinish(here, id, source("broken"));
    assert.equal(deployment.status, "failed");
    assert.ok(!(await here.events()).includes("deployment.rolled_back"));
    assert.equal((await here.events()).at(-1), "deployment.failed");
  });

  await t.test("lets the next one of the queue start at once", async (t) => {
    const here = await world(t, broken(outcome));
    const { id } = await here.project();
    await deployAndFinish(here, id);
    const [bad, next] = [await here.deploy(id, source("broken")), await here.deploy(id)];
    await here.service.clock.advance("6s");
    assert.deepEqual(await states(here, bad, next), ["rolled_back", "building"]);
  });
});

test("a driver that throws is retried, and at last the deployment fails", async (t) => {
  let asked = 0;
  const driver: DeploymentDriver = {
    delay: () => 0,
    async step() {
      asked += 1;
      throw new Error("the runtime is gone");
    },
  };
  const here = await world(t, { deployments: { driver } });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  await here.service.clock.advance("1h");
  assert.equal((await deploymentNow(here, deployment.id)).status, "failed");
  assert.ok(asked > 1);
  const events = (await eventsOf(here)).filter(({ event }) => event === "deployment.failed");
  assert.equal(events.length, 1);
  assert.match(String(events[0]?.data.reason), /failed unexpectedly; its log has the reason under job_/);
});
