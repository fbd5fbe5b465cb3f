import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const commit = "0123456789abcdef0123456789abcdef01234567";
const config = { repo: "acme/web", branch: "main", environment: "production" };

/** The payloads of a push: GitHub and Gitea share one, GitLab has its own. */
const github = (more: object = {}) => ({
  ref: "refs/heads/main",
  before: "0".repeat(40),
  after: commit,
  deleted: false,
  repository: { full_name: "acme/web" },
  commits: [],
  ...more,
});
const gitlab = (more: object = {}) => ({
  object_kind: "push",
  ref: "refs/heads/main",
  after: commit,
  checkout_sha: commit,
  project: { path_with_namespace: "acme/web" },
  ...more,
});

const connect = async (here: World, more: object = {}) =>
  expect(
    await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config: { ...config, ...more } }),
    201,
  ).id;

const push = (here: World, path: string, body: object, headers: Record<string, string> = {}) =>
  here.call("nobody", "POST", `/hooks/code-host${path}`, body, { "x-github-event": "push", ...headers });

const sign = (secret: string, body: object) =>
  `sha256=${createHmac("sha256", secret).update(JSON.stringify(body)).digest("hex")}`;

test("a push to the configured repository and branch deploys that commit, and its version is the commit's id", async (t) => {
  const here = await world(t);
  await here.project();
  const id = await connect(here);
  const { data } = expect(await push(here, `/${id}`, github()), 202);
  assert.equal(data[0].integration_id, id);
  await here.service.clock.advance("10s");
  const deployment = expect(await here.call("owner", "GET", `/v1/deployments/${data[0].deployment_id}`), 200);
  assert.deepEqual([deployment.status, deployment.version, deployment.environment], ["active", commit, "production"]);
  assert.deepEqual([deployment.source.repo, deployment.source.branch], ["acme/web", "main"]);
});

test("a pushed tag is deployed, and its version is the tag", async (t) => {
  const here = await world(t);
  await here.project();
  const id = await connect(here);
  const body = gitlab({ object_kind: "tag_push", ref: "refs/tags/v2.0.0" });
  const { data } = expect(
    await push(here, `/${id}`, body, { "x-github-event": "", "x-gitlab-event": "Tag Push Hook" }),
    202,
  );
  await here.service.clock.advance("10s");
  const deployment = expect(await here.call("owner", "GET", `/v1/deployments/${data[0].deployment_id}`), 200);
  assert.deepEqual([deployment.version, deployment.source.tag], ["v2.0.0", "v2.0.0"]);
});

test("another branch, another repository or no project: nothing is deployed", async (t) => {
  const here = await world(t);
  const id = await connect(here);
  assert.deepEqual(expect(await push(here, `/${id}`, github()), 202).data, []);
  await here.project();
  for (const other of [{ ref: "refs/heads/other" }, { repository: { full_name: "acme/other" } }]) {
    assert.deepEqual(expect(await push(here, `/${id}`, github(other)), 202).data, []);
  }
});

test("pings, deletions and other events are 200 and do nothing", async (t) => {
  const here = await world(t);
  await here.project();
  const id = await connect(here);
  expect(await push(here, `/${id}`, { zen: "Keep it simple." }, { "x-github-event": "ping" }), 200);
  expect(await push(here, `/${id}`, github({ after: "0".repeat(40), deleted: true })), 200);
  assert.deepEqual(expect(await here.call("owner", "GET", "/v1/deployments"), 200).data, []);
});

test("a push without a valid signature is 401, and a signed one deploys once", async (t) => {
  const here = await world(t);
  await here.project();
  const id = await connect(here, { secret: "whsec_demo" });
  const right = sign("whsec_demo", github());
  const wrong: Record<string, string>[] = [
    {},
    { "x-hub-signature-256": "" },
    { "x-hub-signature-256": sign("other", github()) },
    { "x-hub-signature-256": right.slice(0, -1) },
    { "x-hub-signature-256": right.replace("sha256", "sha1") },
    { "x-gitlab-token": "other" },
  ];
  for (const headers of wrong) {
    const { status, body } = await push(here, `/${id}`, github(), headers);
    assert.deepEqual([status, body.error.code], [401, "unauthorized"]);
  }
  const headers = { "x-hub-signature-256": right, "x-github-delivery": "d-1" };
  assert.equal(expect(await push(here, `/${id}`, github(), headers), 202).data.length, 1);
  assert.deepEqual(expect(await push(here, `/${id}`, github(), headers), 202).data, []);
  assert.equal(expect(await push(here, `/${id}`, github(), { "x-gitlab-token": "whsec_demo" }), 202).data.length, 1);
});

test("the connected app serves every integration of the repository and branch", async (t) => {
  const here = await world(t, { codeHost: { secret: "app_secret", organizations: { acme: ["acme/*"] } } });
  await here.project();
  const ids = [
    await connect(here),
    await connect(here, { secret: "whsec_demo" }),
    await connect(here, { branch: "next" }),
  ];
  const headers = { "x-hub-signature-256": sign("app_secret", github()) };
  const { data } = expect(await push(here, "", github(), headers), 202);
  assert.deepEqual(
    data.map(({ integration_id }: { integration_id: string }) => integration_id),
    ids.slice(0, 2),
  );
  assert.equal((await push(here, "", github())).status, 401);
});

test("in the mode dev an unsigned push is accepted, but never for an integration with a secret", async (t) => {
  const here = await world(t);
  await here.project();
  const open = await connect(here);
  await connect(here, { secret: "whsec_demo" });
  const { data } = expect(await push(here, "", github()), 202);
  assert.deepEqual(
    data.map(({ integration_id }: { integration_id: string }) => integration_id),
    [open],
  );
});

test("an unknown integration is 404, another method 405, another content type 415", async (t) => {
  const here = await world(t);
  const id = await connect(here);
  assert.equal((await push(here, "/int_00000000000000000000000000", github())).status, 404);
  assert.equal((await here.call("nobody", "GET", `/hooks/code-host/${id}`)).status, 405);
  assert.equal((await push(here, `/${id}`, github(), { "content-type": "text/plain" })).status, 415);
});

test("an invalid push is 422 with its wrong and missing fields, in the form of its code host", async (t) => {
  const here = await world(t);
  const id = await connect(here);
  const gitlabs = { "x-github-event": "", "x-gitlab-event": "Push Hook" };
  const ref = "must be refs/heads/… or refs/tags/…";
  for (const [body, details, headers] of [
    [{}, ["ref is required", "after is required", "repository is required"]],
    [{ hello: 1 }, ["ref is required", "after is required", "repository is required"]],
    [{ ref: 1 }, ["ref must be a string", "after is required", "repository is required"]],
    [{ ref: "refs/heads/main" }, ["after is required", "repository is required"]],
    [github({ ref: "main" }), [`ref ${ref}`]],
    [github({ after: "HEAD" }), ["after must be a commit id"]],
    [github({ repository: "acme/web" }), ["repository must be an object"]],
    [github({ repository: {} }), ["repository.full_name is required"]],
    [{}, ["ref is required", "after is required", "project is required"], gitlabs],
    [gitlab({ project: { path_with_namespace: 5 } }), ["project.path_with_namespace must be a string"], gitlabs],
  ] as const) {
    const { error } = expect(await push(here, `/${id}`, body, headers), 422);
    const said = error.details.map(({ path, message }: { path: string; message: string }) => `${path} ${message}`);
    assert.deepEqual(said, details, JSON.stringify(body));
  }
  for (const [body, headers] of [
    [gitlab(), {}],
    [github(), gitlabs],
  ] as const)
    assert.deepEqual(expect(await push(here, `/${id}`, body, headers), 202).data, []);
});

test("the project of a code host must belong to the organization", async (t) => {
  const here = await world(t);
  const config = { repo: "acme/web", branch: "main", environment: "production", project_id: "proj_unknown" };
  const create = () => here.call("owner", "POST", "/v1/integrations", { type: "code_host", config });
  const { status, body } = await create();
  assert.deepEqual([status, body.error.details[0].path], [422, "config.project_id"]);
  config.project_id = (await here.project()).id;
  const { id } = expect(await create(), 201);
  const moved = await here.call("owner", "PATCH", `/v1/integrations/${id}`, { config: { ...config, project_id: "x" } });
  assert.equal(moved.status, 422);
});

test("a code host whose project was deleted can be changed, and null selects the default project", async (t) => {
  const here = await world(t);
  const { id: project_id } = await here.project();
  const id = await connect(here, { project_id });
  const other = await connect(here, { branch: "next" });
  expect(await here.call("owner", "DELETE", `/v1/projects/${project_id}`), 204);
  const read = async (of = id) => expect(await here.call("owner", "GET", `/v1/integrations/${of}`), 200);
  const reason = `the project ${project_id} was deleted; set config.project_id to another one, or to null`;
  assert.deepEqual([(await read()).status, (await read()).reason], ["inactive", reason]);
  assert.deepEqual([(await read(other)).status, (await read(other)).reason], ["active", undefined]);
  const { data } = expect(await here.call("owner", "GET", "/v1/integrations"), 200);
  assert.deepEqual(
    data.map((one: { id: string; reason?: string }) => [one.id, one.reason]).toSorted(),
    [
      [id, reason],
      [other, undefined],
    ].toSorted(),
  );
  const activate = (more = {}) => here.call("owner", "PATCH", `/v1/integrations/${id}`, { status: "active", ...more });
  assert.deepEqual(pathsOf(expect(await activate(), 422)), ["config.project_id"]);
  const change = async (more: object) =>
    expect(await here.call("owner", "PATCH", `/v1/integrations/${id}`, { config: more }), 200).config;
  assert.deepEqual(await change({ branch: "next" }), { ...config, branch: "next", project_id });
  assert.equal((await change({ project_id: null })).project_id, undefined);
  assert.equal((await read()).reason, undefined);
  assert.equal(expect(await activate(), 200).status, "active");
});

test("a push goes to the project that deployed its repository last", async (t) => {
  const here = await world(t);
  const projects = [await here.project("one"), await here.project("two"), await here.project("three")];
  const id = await connect(here);
  const source = { type: "git", repo: "acme/web", branch: "main" };
  for (const [i, index] of [1, 0, 2, 0, 1].entries()) {
    const project_id = projects[index].id;
    await here.deploy(project_id, { source });
    const after = String(i + 1).repeat(40);
    const { data } = expect(await push(here, `/${id}`, github({ after })), 202);
    const made = expect(await here.call("owner", "GET", `/v1/deployments/${data[0].deployment_id}`), 200);
    assert.equal(made.project_id, project_id);
  }
});
