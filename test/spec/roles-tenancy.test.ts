import assert from "node:assert/strict";
import { test } from "node:test";
import type { Operation } from "../../lib/kernel/operation.ts";
import { operations } from "../../lib/operations.ts";
import { expect, git, type Reply, type Who, type World, world } from "../world.ts";

const many = { rateLimit: 1_000_000 };

/** One record of every kind of `acme`, by the first part of its path. */
async function records(here: World): Promise<Record<string, string>> {
  const { call, project, deploy, service } = here;
  const projects = (await project()).id;
  await deploy(projects);
  await service.clock.advance("1m");
  const deployments = (await deploy(projects)).id;
  await service.clock.advance("1m");
  const invite = { email: "guest@acme.test", role: "viewer" };
  const invitations = expect(await call("owner", "POST", "/v1/users/invite", invite), 201).id;
  const { data } = expect(await call("owner", "GET", "/v1/users"), 200);
  const users = data.find(({ name }: { name: string }) => name === "viewer").id;
  const hook = { url: "https://hook.inbox.test/", events: ["*"] };
  const webhooks = expect(await call("owner", "POST", "/v1/webhooks", hook), 201).id;
  const custom = { type: "custom", config: { url: hook.url } };
  const integrations = expect(await call("owner", "POST", "/v1/integrations", custom), 201).id;
  const order = { model: "image-draft", prompt: "a hill", resolution: "512" };
  const generations = expect(await call("owner", "POST", "/v1/generations", order), 201).id;
  const keys = expect(await call("viewer", "POST", "/v1/api-keys", { name: "mine" }), 201).id;
  return { projects, deployments, invitations, users, webhooks, integrations, generations, "api-keys": keys };
}

/** Good for every operation that takes one: unknown fields are ignored. */
const body = { name: "taken over", role: "viewer", description: "mine", variables: {}, since: "2026-01-01T00:00:00Z" };

const withId = operations.filter(({ path }) => path.includes("{id}"));

/** The deployments of `records()` made the environment. */
const pathOf = (path: string, id: string) =>
  `/v1${path.replace("{id}", id).replace("{dlv}", "dlv_unknown").replace("{name}", "production")}`;

const ask = ({ call }: World, who: Who, { method, path, body: judged }: Operation, id: string): Promise<Reply> =>
  call(who, method, pathOf(path, id), judged ? body : undefined, {
    "x-request-id": "the-same",
  });

/** Everything that could tell one answer from another, but the caller's own request count. */
const comparable = ({ status, text, headers }: Reply) => ({
  status,
  text,
  headers: [...headers].filter(([name]) => name !== "x-ratelimit-remaining"),
});

/** Everything that `acme` can read. */
async function readAll({ call }: World) {
  const all = [];
  for (const { path, method, answers } of operations) {
    if (method !== "GET" || answers !== "list" || path.includes("{")) continue;
    all.push(expect(await call("owner", "GET", `/v1${path}`), 200).data);
  }
  return all;
}

test("An identifier of another organization is answered like an unknown one, byte for byte", async (t) => {
  const here = await world(t, many);
  const theirs = await records(here);
  const before = await readAll(here);
  for (const operation of withId) {
    const kind = operation.path.split("/")[1] ?? "";
    const id = theirs[kind];
    assert.ok(id, `records() makes no record for ${operation.path}`);
    const unknown = `${id.slice(0, id.indexOf("_") + 1)}01ARZ3NDEKTSV4RRFFQ69G5FAV`;
    const foreign = await ask(here, "stranger", operation, id);
    assert.equal(foreign.status, 404, `${operation.id}: ${foreign.text}`);
    assert.deepEqual(comparable(foreign), comparable(await ask(here, "stranger", operation, unknown)), operation.id);
    assert.deepEqual(
      comparable(foreign),
      comparable(await ask(here, "owner", operation, unknown)),
      `${operation.id} to acme itself`,
    );
    assert.ok(!foreign.text.includes(id), "the answer does not even repeat it");
  }
  assert.deepEqual(await readAll(here), before, "nothing was changed");
});

test("An identifier of another kind is answered like an unknown one", async (t) => {
  const here = await world(t, many);
  const own = await records(here);
  for (const operation of withId) {
    const kind = operation.path.split("/")[1] ?? "";
    for (const [other, id] of Object.entries(own)) {
      if (other !== kind) expect(await ask(here, "owner", operation, id), 404);
    }
  }
});

test("Without the role, an unknown, a foreign and an own identifier are refused alike", async (t) => {
  const here = await world(t, many);
  const { projects } = await records(here);
  const mine = await here.call("viewer", "DELETE", `/v1/projects/${projects}`, undefined, { "x-request-id": "a" });
  const unknown = await here.call("viewer", "DELETE", "/v1/projects/unknown", undefined, { "x-request-id": "a" });
  expect(mine, 403);
  assert.deepEqual(comparable(mine), comparable(unknown));
});

test("A project of another organization in a deployment's body is answered like an unknown one", async (t) => {
  const here = await world(t, many);
  const { projects } = await records(here);
  const deploy = (project_id: string) =>
    here.call(
      "stranger",
      "POST",
      "/v1/deployments",
      { project_id, environment: "production", source: git },
      { "x-request-id": "a" },
    );
  const foreign = await deploy(projects ?? "");
  expect(foreign, 404);
  assert.deepEqual(comparable(foreign), comparable(await deploy("proj_01ARZ3NDEKTSV4RRFFQ69G5FAV")));
});

test("Lists and totals hold nothing of another organization", async (t) => {
  const here = await world(t, { ...many, envelope: "full" });
  const { projects } = await records(here);
  for (const path of [
    "/v1/projects",
    "/v1/deployments",
    "/v1/invitations",
    "/v1/events",
    `/v1/deployments?project_id=${projects}`,
  ]) {
    const { data, pagination } = expect(await here.call("stranger", "GET", path), 200);
    assert.deepEqual(data, [], path);
    assert.equal(pagination.total, 0, path);
  }
  const { data, pagination } = expect(await here.call("stranger", "GET", "/v1/users"), 200);
  assert.equal(data.length, 1);
  assert.equal(pagination.total, 1);
});

test("Two organizations may have a project, a user and an invitation of the same name", async (t) => {
  const here = await world(t, many);
  await records(here);
  const { call } = here;
  expect(await call("stranger", "POST", "/v1/projects", { name: "web", region: "eu" }), 201);
  for (const email of ["guest@acme.test", "viewer@acme.test"]) {
    expect(await call("stranger", "POST", "/v1/users/invite", { email, role: "viewer" }), 201);
  }
});
