import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Options } from "../../lib/index.ts";
import { endOf } from "../helpers/deployments.ts";
import { isPostgres } from "../helpers/engine.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { app, processesWith, runtimeWorld } from "../helpers/running-apps.ts";
import { followAt } from "../helpers/server-sent-events.ts";
import { expect } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";
import { emptyDatabase } from "../postgres/databases.ts";

const host = "production-web.localhost";
const git = { type: "git", repo: "acme/web" } as const;

/** Options with a database of its own, whose apps are in `svc.db-apps` of the folder. */
async function lasting(t: TestContext, folder: string): Promise<Options> {
  const database = join(folder, "svc.db");
  if (!isPostgres) return { database };
  const { url } = await emptyDatabase(t);
  const encryptionKey = Buffer.alloc(32, 7).toString("hex");
  return { database: url, encryptionKey, apps: { port: 0, folder: `${database}-apps` } };
}

test("Deleting an environment ends its deployments as failed, with the reason, and stops what runs of it", async (t) => {
  const folder = temporaryFolder(t);
  const here = await runtimeWorld(t, await lasting(t, folder));
  const { id } = await here.project("web");
  here.repos.commit("acme/web", app("one"));
  assert.equal((await here.release(id)).status, "active");
  const mark = `sleep 5${process.pid}`;
  here.repos.commit("acme/web", { "svc.json": { build: `echo started; ${mark}`, start: "x" } });
  const deployments = [await here.deploy(id, { source: git }), await here.deploy(id, { source: git })];
  await here.logged(deployments[0].id, /^started$/);
  const before = (await here.events()).length;
  expect(await here.call("developer", "DELETE", `/v1/projects/${id}/environments/production`), 204);
  assert.match(await here.ask(host), /^404 /);
  for (const deployment of deployments) {
    const ended = await endOf(here, "viewer", deployment.id);
    assert.deepEqual([ended.status, ended.url], ["failed", undefined]);
    assert.deepEqual((await here.messages(deployment.id)).slice(-2), [
      "The environment production was deleted",
      "Deployment failed",
    ]);
  }
  const events = (await here.events()).slice(before);
  assert.deepEqual(events, ["deployment.failed", "deployment.started", "deployment.failed"]);
  // The row goes first, then the stored files.
  const stored = () => readdirSync(join(folder, "svc.db-apps/releases"));
  await until(
    () => stored().length === 0,
    () => here.ask(host),
  );
  await here.service.close();
  assert.deepEqual(processesWith(mark), []);
});

test("The followed log of an environment ends when its project is deleted, however long it is", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const print = `for (let i = 1; i <= 1200; i++) console.log("line", i);`;
  const { "server.js": server, ...files } = app("one");
  here.repos.commit("acme/web", { ...files, "server.js": `${print}\n${server}` });
  assert.equal((await here.release(id)).status, "active");
  const log = await followAt(here, `/v1/projects/${id}/environments/production/logs?follow=true`);
  await until(
    () => /"line 1200"/.test(log.raw()),
    () => log.take(log.seen().length + 1),
  );
  const all = log.take();
  expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
  assert.deepEqual((await all).at(-1), { id: undefined, event: "end", data: { status: "deleted" } });
});
