import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { deploymentNow, makerOf } from "../helpers/deployments.ts";
import { temporary } from "../helpers/members.ts";
import { connectPreviews, hook, pullRequest } from "../helpers/pull-requests.ts";
import { expect, git, type World, world } from "../helpers/test-service.ts";

const listed = async (here: World) => expect(await here.call("viewer", "GET", "/v1/deployments"), 200).data;

test("A deployment shows who made it: in its answer, alone, and in lists", async (t) => {
  const here = await world(t);
  const { id: project_id } = await here.project();
  const order = { project_id, environment: "production", source: git };
  // A caller cannot name somebody else.
  const forged = { ...order, created_by: { user_id: "usr_x", key_id: "key_x", via: "push" } };
  const first = expect(await here.call("developer", "POST", "/v1/deployments", forged), 201);
  const developer = await makerOf(here, "developer");
  assert.deepEqual(first.created_by, developer);
  await here.service.clock.advance("1m");
  expect(await here.call("developer", "POST", "/v1/deployments", order), 201);
  await here.service.clock.advance("1m");
  assert.deepEqual((await deploymentNow(here, first.id))["created_by"], developer);
  const [second] = await listed(here);
  const back = expect(await here.call("admin", "POST", `/v1/deployments/${second.id}/rollback`), 201);
  const admin = await makerOf(here, "admin");
  assert.deepEqual(back.created_by, admin);
  assert.deepEqual(
    (await listed(here)).map((one: { created_by: object }) => one.created_by),
    [admin, developer, developer],
  );
  // The record stays when its maker leaves.
  expect(await here.call("owner", "DELETE", `/v1/users/${developer.user_id}`), 204);
  assert.deepEqual((await deploymentNow(here, first.id))["created_by"], developer);
});

test("A deployment by the dashboard says so, and one by a hook of a code host names nobody", async (t) => {
  const here = await world(t);
  const { id: project_id } = await here.project();
  const made = await here.call("nobody", "POST", "/dashboard/api/deployments", {
    ...{ project_id, environment: "production", source: git },
  });
  const { user } = expect(await here.call("owner", "GET", "/v1/me"), 200);
  const { created_by } = expect(made, 201);
  assert.deepEqual([created_by.user_id, created_by.via], [user.id, "dashboard"]);
  const nobody = { user_id: null, key_id: null, via: "hook" };
  const id = await connectPreviews(here);
  const preview = expect(await hook(here, id, pullRequest("opened")), 202).data[0];
  assert.deepEqual((await deploymentNow(here, preview.deployment_id))["created_by"], nobody);
  const push = { ref: "refs/heads/main", after: "a".repeat(40), repository: { full_name: "acme/web" }, commits: [] };
  const pushed = expect(await hook(here, id, push, { "x-github-event": "push" }), 202).data[0];
  assert.deepEqual((await deploymentNow(here, pushed.deployment_id))["created_by"], nobody);
});

/** A database whose only deployment is from before the column. */
async function older(t: TestContext) {
  const database = temporary(t);
  const before = await world(t, { database });
  const { id } = await before.project();
  await before.deploy(id);
  await before.service.close();
  const file = new Database(database);
  file.exec("update deployments set created_by = null");
  file.close();
  return world(t, { database });
}

test("A deployment from before has no created_by", async (t) => {
  const here = await older(t);
  const [one] = await listed(here);
  assert.ok(!("created_by" in one));
  assert.ok(!("created_by" in (await deploymentNow(here, one.id))));
  await here.service.clock.advance("1m");
  const [active] = await listed(here);
  assert.deepEqual([active.status, "created_by" in active, "deployed_at" in active], ["active", false, true]);
});
