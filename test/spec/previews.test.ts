import assert from "node:assert/strict";
import { test } from "node:test";
import { commitOf, connectPreviews, hook, mergeRequest, previewing, pullRequest } from "../helpers/pull-requests.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const statusesOf = (deployments: readonly { status: string }[]) => deployments.map(({ status }) => status);

test("a request is deployed to its environment with the variables of the integration's, again at each push, until it ends", async (t) => {
  const { here, id, pull, environment, deployments, advance } = await previewing(t);
  const [{ deployment_id, ...told }] = await pull("opened");
  assert.deepEqual(told, { integration_id: id, environment: "pr-7" });
  await advance("10s");
  const first = expect(await here.call("owner", "GET", `/v1/deployments/${deployment_id}`), 200);
  assert.deepEqual([first.status, first.version, first.source.branch], ["active", commitOf("one"), "topic"]);
  assert.deepEqual(await environment(), {
    name: "pr-7",
    variables: { PLAIN: "1", TOKEN: { secret: true } },
    preview: {
      ...{ integration_id: id, number: 7, fork: false, commit: commitOf("one") },
      url: "https://code.example.com/acme/web/pulls/7",
      source: { type: "git", repo: "acme/web", branch: "topic" },
    },
  });
  assert.equal((await pull("synchronize", { commit: "two" })).length, 1);
  await advance("10s");
  assert.deepEqual(statusesOf(await deployments()), ["active", "active"]);
  const [ended] = await pull("closed", { commit: "two" });
  assert.deepEqual([ended.deployment_id, ended.message], [null, "the preview has ended with its request"]);
  assert.equal(await environment(), undefined);
});

test("Gitea and GitLab name the same changes in their ways", async (t) => {
  const { here, id, send, environment } = await previewing(t);
  const gitea = { "x-gitea-event": "pull_request" };
  const gitlab = { "x-github-event": "" };
  assert.equal((await send(pullRequest("opened", { number: 1 }), gitea)).length, 1);
  assert.equal((await send(pullRequest("synchronized", { number: 1, commit: "two" }), gitea)).length, 1);
  assert.equal((await send(mergeRequest("open", { number: 2, at: 1 }), gitlab)).length, 1);
  const pushed = mergeRequest("update", { number: 2, commit: "two", oldrev: "one", at: 2 });
  assert.equal((await send(pushed, gitlab)).length, 1);
  expect(await hook(here, id, mergeRequest("update", { number: 2, commit: "three", at: 3 }), gitlab), 200);
  expect(await hook(here, id, pullRequest("labeled", { number: 1, commit: "three" })), 200);
  assert.equal((await environment("pr-2")).preview.commit, commitOf("two"));
  await send(pullRequest("closed", { number: 1, commit: "two" }), gitea);
  await send(mergeRequest("merge", { number: 2, commit: "two", at: 4 }), gitlab);
  assert.deepEqual([await environment("pr-1"), await environment("pr-2")], [undefined, undefined]);
  const wrong = await hook(here, id, { ...pullRequest("opened"), pull_request: { number: 0 } });
  assert.deepEqual([wrong.status, wrong.body.error.code], [422, "validation_failed"]);
});

test("a request of a fork waits until a member deploys it, without secrets, and each of its pushes waits again", async (t) => {
  const { here, project_id, pull, environment, deployments, advance } = await previewing(t);
  const [told] = await pull("opened", { from: "mallory/web" });
  assert.equal(told.deployment_id, null);
  assert.match(told.message, /fork: it waits until a member deploys mallory\/web, branch topic, to pr-7/);
  const waiting = await environment();
  assert.deepEqual([waiting.preview.fork, waiting.variables], [true, { PLAIN: "1" }]);
  const order = { project_id, environment: "pr-7", source: waiting.preview.source };
  assert.equal((await here.call("viewer", "POST", "/v1/deployments", order)).status, 403);
  expect(await here.call("developer", "POST", "/v1/deployments", order), 201);
  await advance("10s");
  assert.equal((await pull("synchronize", { from: "mallory/web", commit: "two" }))[0].deployment_id, null);
  assert.deepEqual(statusesOf(await deployments()), ["active"]);
  await pull("closed", { from: null, commit: "two" });
  assert.equal(await environment(), undefined);
});

test("a closed request cancels what builds and waits, and nothing of it comes back", async (t) => {
  const { here, pull, environment, deployments, advance } = await previewing(t);
  await pull("opened");
  await here.service.clock.advanceToNext();
  await pull("synchronize", { commit: "two" });
  await pull("synchronize", { commit: "three" });
  assert.deepEqual(statusesOf(await deployments()), ["queued", "queued", "building"]);
  await pull("closed", { commit: "three" });
  assert.deepEqual(statusesOf(await deployments()), ["cancelled", "cancelled", "cancelled"]);
  await advance("1h");
  assert.equal(await environment(), undefined);
});

test("a preview ends 14 days after its last deployment, a person's too, and the next push begins it again", async (t) => {
  const { project_id, here, pull, environment, advance } = await previewing(t);
  await pull("opened");
  await advance("10d");
  await here.deploy(project_id, { environment: "pr-7" });
  await advance("13d");
  assert.ok(await environment());
  await advance("1d");
  assert.equal(await environment(), undefined);
  assert.deepEqual(await pull("opened"), []);
  assert.equal((await pull("synchronize", { commit: "two" })).length, 1);
  assert.ok(await environment());
});

test("the option previewLifetime says how long", async (t) => {
  const { pull, environment, advance } = await previewing(t, { previewLifetime: "2h" });
  await pull("opened", { from: "mallory/web" });
  await advance("119m");
  assert.ok(await environment());
  await advance("1m");
  assert.equal(await environment(), undefined);
});

test("hooks that come twice or out of order do no harm", async (t) => {
  const { pull, send, environment, deployments } = await previewing(t);
  const opened = { commit: "one", at: 10 };
  await pull("opened", opened);
  assert.deepEqual(await pull("opened", opened), []);
  await pull("synchronize", { commit: "three", at: 30 });
  assert.deepEqual(await pull("synchronize", { commit: "two", at: 20 }), []);
  assert.equal((await environment()).preview.commit, commitOf("three"));
  const id = { "x-github-delivery": "d-1" };
  assert.equal((await send(pullRequest("closed", { commit: "three", at: 40 }), id)).length, 1);
  assert.deepEqual(await send(pullRequest("closed", { commit: "three", at: 40 }), id), []);
  for (const late of [opened, { commit: "four", at: 40 }, { commit: "four" }])
    assert.deepEqual(await pull("synchronize", late), []);
  assert.equal(await environment(), undefined);
  assert.equal((await pull("reopened", { commit: "three", at: 50 })).length, 1);
  assert.deepEqual(await pull("closed", { commit: "three", at: 40 }), []);
  assert.ok(await environment());
  assert.equal((await deployments()).length, 3);
});

test("a request that was closed before its opening arrives is never deployed", async (t) => {
  const { pull, environment } = await previewing(t);
  assert.deepEqual(await pull("closed", { at: 20 }), []);
  assert.deepEqual(await pull("opened", { at: 10 }), []);
  assert.equal(await environment(), undefined);
});

test("an environment of the same name that a person made is left alone", async (t) => {
  const { here, path, pull, environment } = await previewing(t);
  expect(await here.call("owner", "PUT", `${path}/pr-7`, { variables: { MINE: "1" } }), 200);
  const [told] = await pull("opened");
  assert.deepEqual([told.deployment_id, told.environment], [null, "pr-7"]);
  assert.match(told.message, /already has an environment \S+, made by a person or another integration/);
  assert.deepEqual(await pull("closed"), []);
  assert.deepEqual((await environment()).variables, { MINE: "1" });
});

test("a preview that a person deletes comes with the next push, and one that they make then is theirs", async (t) => {
  const { here, path, pull, environment } = await previewing(t);
  await pull("opened");
  expect(await here.call("owner", "DELETE", `${path}/pr-7`), 204);
  assert.deepEqual(await pull("opened"), []);
  assert.equal((await pull("synchronize", { commit: "two" })).length, 1);
  expect(await here.call("owner", "DELETE", `${path}/pr-7`), 204);
  expect(await here.call("owner", "PUT", `${path}/pr-7`, { variables: {} }), 200);
  await pull("closed", { commit: "two" });
  assert.equal((await environment()).preview, undefined);
});

test("previews end with their integration, and one without previews deploys none", async (t) => {
  const { here, id, pull, environment } = await previewing(t);
  await pull("opened");
  const change = (body: object) => here.call("owner", "PATCH", `/v1/integrations/${id}`, body);
  expect(await change({ config: { previews: false } }), 200);
  assert.deepEqual(await pull("synchronize", { commit: "two" }), []);
  assert.deepEqual(await pull("opened", { number: 8 }), []);
  assert.ok(await environment());
  expect(await here.call("owner", "DELETE", `/v1/integrations/${id}`), 204);
  assert.equal(await environment(), undefined);
});

test("requests need the signature of pushes, and the connected app serves those of its organizations", async (t) => {
  const here: World = await world(t, { codeHost: { secret: "app_secret", organizations: { acme: ["acme/*"] } } });
  await here.project();
  await connectPreviews(here);
  const other = await connectPreviews(here, { repo: "other/web" });
  const unsigned = await here.call("nobody", "POST", "/hooks/code-host", pullRequest("opened"));
  assert.equal(unsigned.status, 401);
  const token = { "x-gitlab-event": "Merge Request Hook", "x-gitlab-token": "app_secret" };
  const app = (body: object) => here.call("nobody", "POST", "/hooks/code-host", body, token);
  assert.equal(expect(await app(mergeRequest("open")), 202).data.length, 1);
  const foreign = { ...mergeRequest("open"), project: { path_with_namespace: "other/web" } };
  assert.deepEqual(expect(await hook(here, other, foreign, token), 202).data, []);
});

test("a deleted project takes its previews along", async (t) => {
  const { here, project_id, pull } = await previewing(t);
  await pull("opened");
  expect(await here.call("owner", "DELETE", `/v1/projects/${project_id}`), 204);
  await here.service.clock.advance("15d");
  assert.deepEqual(await pull("closed"), []);
});
