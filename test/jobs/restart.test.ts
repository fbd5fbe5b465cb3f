import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { jobsRepository } from "../../lib/jobs/repository.ts";
import { openFile } from "../../lib/store/sqlite/database-files.ts";
import { createStore } from "../../lib/store/store.ts";
import { deployAndFinish, deploymentNow, eventsOf } from "../helpers/deployments.ts";
import { expect, start, type World, world } from "../helpers/test-service.ts";

/** A database file for one test. */
function file(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-jobs-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "svc.db");
}

/** A process that claims every job due by `now`, and dies before running one. */
async function dieHolding(database: string, now: string): Promise<number> {
  const { engine, release } = openFile(database, { exclusive: true, mayCreate: () => assert.fail("it is there") });
  const store = createStore(engine);
  const claim = { now, owner: "process 1", until: "2026-01-01T01:00:00.000Z" };
  const jobs = store.using(jobsRepository);
  const rows = await store.transaction("all", (tx) => jobs(tx).claim(claim));
  await store.close();
  release();
  return rows.length;
}

/** A building deployment, in the file of a service that was closed. */
async function building(t: TestContext, database: string) {
  const here = await world(t, { database });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  await here.service.clock.advance("2s");
  await here.service.close();
  return deployment;
}
const restart = async (t: TestContext, database: string): Promise<World> => world(t, { database });

test("a deployment resumes when the service restarts", async (t) => {
  const database = file(t);
  const deployment = await building(t, database);
  const here = await restart(t, database);
  assert.equal((await deploymentNow(here, deployment.id)).status, "building");
  await here.service.clock.advance("4s");
  const { status, completed_at } = await deploymentNow(here, deployment.id);
  assert.deepEqual([status, completed_at], ["active", "2026-01-01T00:00:06.000Z"]);
});

test("a job that an earlier process left running is resumed at the start", async (t) => {
  const database = file(t);
  const deployment = await building(t, database);
  assert.ok((await dieHolding(database, "2026-01-01T00:00:04.000Z")) > 0);
  const here = await restart(t, database);
  await here.service.clock.advance("4s");
  assert.equal((await deploymentNow(here, deployment.id)).status, "active");
  const names = (await eventsOf(here)).map(({ event }) => event);
  assert.deepEqual(names, ["project.created", "deployment.queued", "deployment.started", "deployment.succeeded"]);
});

test("kills of the whole service fail no work, however often they hit it while other work runs", async (t) => {
  const database = file(t);
  const deployment = await building(t, database);
  for (let kill = 1; kill <= 9; kill++) {
    assert.ok((await dieHolding(database, "2026-01-01T00:00:04.000Z")) > 0);
    await (await restart(t, database)).service.close();
  }
  const here = await restart(t, database);
  await here.service.clock.advance("4s");
  assert.equal((await deploymentNow(here, deployment.id)).status, "active");
});

test("a deployment whose job crashed ten processes at once, whenever it began, fails with worker_crashed", async (t) => {
  const database = file(t);
  const deployment = await building(t, database);
  for (let crash = 1; crash <= 10; crash++) {
    assert.ok((await dieHolding(database, "2026-01-01T00:01:00.000Z")) > 0);
    const here = await restart(t, database);
    assert.equal((await deploymentNow(here, deployment.id)).status, "building");
    if (crash < 10) {
      await here.service.close();
      continue;
    }
    await here.service.clock.advance("1h");
    const { status, completed_at } = await deploymentNow(here, deployment.id);
    assert.equal(status, "failed");
    assert.ok(completed_at);
    const failed = (await eventsOf(here)).filter(({ event }) => event === "deployment.failed");
    assert.deepEqual(
      failed.map(({ data }) => [data.deployment_id, data.reason]),
      [[deployment.id, "worker_crashed"]],
    );
    assert.equal((await deployAndFinish(here, deployment.project_id)).status, "active");
  }
});

test("the clock is stored, and never goes back", async (t) => {
  const database = file(t);
  const first = await restart(t, database);
  await first.service.clock.advance("3d");
  await first.service.close();
  const second = await restart(t, database);
  assert.equal(second.service.clock.now().toISOString(), "2026-01-04T00:00:00.000Z");
});

test("a record that is created after a restart at the same instant is newer: identifiers sort by creation", async (t) => {
  const database = file(t);
  const made: string[] = [];
  for (let round = 0; round < 6; round++) {
    const here = await world(t, { database, random: `process ${round}` });
    assert.equal(here.service.clock.now().toISOString(), start);
    made.unshift((await here.project(`project ${round}`)).id);
    const { data } = expect(await here.call("viewer", "GET", "/v1/projects"), 200);
    await here.service.close();
    assert.deepEqual(
      data.map(({ id }: { id: string }) => id),
      made,
    );
  }
});

test("first in, first out holds across restarts at the same instant", async (t) => {
  const database = file(t);
  const queue: string[] = [];
  for (let round = 0; round < 4; round++) {
    const here = await world(t, { database, random: `process ${5 - round}` });
    const { data } = expect(await here.call("viewer", "GET", "/v1/projects"), 200);
    queue.push((await here.deploy(data[0]?.id ?? (await here.project()).id)).id);
    await here.service.close();
  }
  const here = await restart(t, database);
  await here.service.clock.advance("1h");
  const started = (await eventsOf(here)).filter(({ event }) => event === "deployment.started");
  assert.deepEqual(
    started.map(({ data }) => data.deployment_id),
    queue,
  );
});

test("a seeded service never repeats an identifier or token across restarts", async (t) => {
  const database = file(t);
  const tokens = new Set<string>();
  for (let round = 0; round < 4; round++) {
    const here = await world(t, { database, random: "the same" });
    const body = { email: `guest-${round}@example.com`, role: "viewer" };
    expect(await here.call("owner", "POST", "/v1/users/invite", body), 201);
    for (const { token } of expect(await here.call("owner", "GET", "/_svc/mail"), 200).data) tokens.add(token);
    await here.service.close();
  }
  assert.equal(tokens.size, 4);
});

test("no identifier is repeated across restarts under a manual clock", async (t) => {
  const config = { webhook_url: "https://chat.inbox.test/in", channel: "#web" };
  const chat = { type: "chat", config };
  const hook = { url: "https://hook.inbox.test/in", events: ["project.created"] };
  type Make = (here: World, turn: string) => Promise<unknown>;
  const webhook: Make = async ({ call }) => expect(await call("owner", "POST", "/v1/webhooks", hook), 201);
  const integration: Make = async ({ call }) => expect(await call("owner", "POST", "/v1/integrations", chat), 201);
  // Each kind in its own world, so that its identifiers are the newest; a project makes one delivery per webhook.
  const kinds: readonly (readonly [number, Make])[] = [
    [1, webhook],
    [1, integration],
    [6, (here, turn) => here.project(turn)],
  ];
  for (const [webhooks, make] of kinds) {
    const database = file(t);
    for (let round = 0; round < 3; round++) {
      const here = await world(t, { database });
      for (let i = 0; round === 0 && i < webhooks; i++) await webhook(here, "");
      for (let i = 0; i < 4; i++) await make(here, `${round} ${i}`);
      await here.service.close();
    }
  }
});

test("periodic work", async (t) => {
  await t.test("is added once, however often the service starts", async (t) => {
    const database = file(t);
    for (let round = 0; round < 3; round++) await (await restart(t, database)).service.close();
    const here = await restart(t, database);
    assert.equal((await here.service.clock.advance("1d")).ran, 1);
    assert.equal((await here.service.clock.advance("7d")).ran, 7);
  });

  await t.test("runs once for all slots that it missed while the service was down", async (t) => {
    const database = file(t);
    await (await restart(t, database)).service.close();
    const here = await world(t, { database, clock: "manual@2026-02-01T12:00:00Z" });
    assert.equal((await here.service.settle()).ran, 1);
    assert.equal((await here.service.settle()).ran, 0);
    assert.equal((await here.service.clock.advance("1d")).ran, 1);
  });
});
