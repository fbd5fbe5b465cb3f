import assert from "node:assert/strict";
import { test } from "node:test";
import { deployAndFinish, deploymentNow, eventsOf, makerOf, pathsOf, source } from "../helpers/deployments.ts";
import { check, expect, git, start, type World, world } from "../helpers/test-service.ts";

const full = { type: "git", repo: "acme/web", branch: "main", tag: null, image_url: null };
const at = (second: number) => new Date(Date.parse(start) + second * 1000).toISOString();

const order = (world: World) => world.project().then(({ id }) => ({ project_id: id, environment: "production" }));

test("POST /deployments", async (t) => {
  await check(t, {
    name: "queues it, announces it, and knows no version yet",
    as: "developer",
    given: order,
    when: ["POST", "/v1/deployments"],
    body: (given: object) => ({ ...given, source: git, unknown: 1 }),
    then: 201,
    events: ["deployment.queued"],
    and: async ({ meta: _, id, ...deployment }, { headers }, world, given) => {
      assert.equal(headers.get("location"), `/v1/deployments/${id}`);
      assert.deepEqual(deployment, {
        ...given,
        status: "queued",
        source: full,
        version: null,
        created_at: start,
        created_by: await makerOf(world, "developer"),
        updated_at: start,
        completed_at: null,
      });
      assert.deepEqual(await deploymentNow(world, id), { id, ...deployment });
      assert.deepEqual((await eventsOf(world)).at(-1), {
        event: "deployment.queued",
        timestamp: start,
        data: { deployment_id: id, ...given, version: null },
      });
    },
  });

  await check(t, {
    name: "is not for a viewer",
    as: "viewer",
    given: order,
    when: ["POST", "/v1/deployments"],
    body: (given: object) => ({ ...given, source: git }),
    then: [403, "insufficient_role"],
  });
  await check(t, {
    name: "does not know another organization's project",
    as: "stranger",
    given: order,
    when: ["POST", "/v1/deployments"],
    body: (given: object) => ({ ...given, source: git }),
    then: [404, "not_found"],
  });
  await check(t, {
    name: "does not know a project that does not exist",
    as: "developer",
    when: ["POST", "/v1/deployments"],
    body: { project_id: "proj_01ARZ3NDEKTSV4RRFFQ69G5FAV", environment: "production", source: git },
    then: [404, "not_found"],
  });
  await check(t, {
    name: "lists every broken rule before it looks for the project",
    as: "developer",
    when: ["POST", "/v1/deployments"],
    body: { environment: "", source: { type: "git", branch: "a..b" } },
    then: [422, "validation_failed"],
    and: (body) =>
      assert.deepEqual(pathsOf(body).sort(), ["environment", "project_id", "source.branch", "source.repo"]),
  });
});

test("the environment of a deployment", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const create = (environment: unknown) =>
    here.call("developer", "POST", "/v1/deployments", { project_id: id, environment, source: git });
  for (const name of ["p", "e".repeat(64), "Preview_1.x-y"]) {
    await t.test(`may be named "${name}"`, async () => assert.equal(expect(await create(name), 201).environment, name));
  }
  for (const name of ["", "e".repeat(65), "a b", "a/b", "größe", "a\n", null, 1, undefined]) {
    await t.test(`must not be ${JSON.stringify(name)}`, async () =>
      assert.deepEqual(pathsOf(expect(await create(name), 422)), ["environment"]),
    );
  }
});

test("the lifecycle of a deployment: 1 s queued, 3 s building, 2 s deploying", async (t) => {
  const here = await world(t);
  const { service } = here;
  const { id: project_id } = await here.project();
  const { id } = await here.deploy(project_id);
  const fixed = {
    id,
    project_id,
    environment: "production",
    source: full,
    created_at: start,
    created_by: await makerOf(here, "owner"),
  };
  const look = async (second: number) => {
    await service.clock.advanceTo(at(second));
    return deploymentNow(here, id);
  };

  await t.test("it is queued for its delay", async () => {
    const expected = { ...fixed, status: "queued", version: null, updated_at: start, completed_at: null };
    assert.deepEqual(await look(0.999), expected);
  });
  await t.test("it builds, without a version", async () => {
    const expected = { ...fixed, status: "building", version: null, updated_at: at(1), completed_at: null };
    assert.deepEqual(await look(1), expected);
    assert.deepEqual(await look(3.999), expected);
  });
  await t.test("it rolls out once the version is resolved", async () => {
    const deployment = await look(4);
    assert.match(deployment.version, /^[0-9a-f]{40}$/);
    const expected = { ...fixed, status: "deploying", updated_at: at(4), completed_at: null };
    assert.deepEqual(deployment, { ...expected, version: deployment.version });
    assert.deepEqual(await look(5.999), deployment);
  });
  await t.test("it is active, completed and deployed, and stays so", async () => {
    const deployment = await look(6);
    const expected = { ...fixed, status: "active", updated_at: at(6), completed_at: at(6), deployed_at: at(6) };
    assert.deepEqual(deployment, { ...expected, version: deployment.version });
    assert.deepEqual(await look(3600), deployment);
  });
  await t.test("each step was announced when it happened", async () => {
    const { version } = await deploymentNow(here, id);
    const data = { deployment_id: id, project_id, environment: "production" };
    assert.deepEqual(await eventsOf(here, 1), [
      { event: "deployment.queued", timestamp: start, data: { ...data, version: null } },
      { event: "deployment.started", timestamp: at(1), data: { ...data, version: null } },
      { event: "deployment.succeeded", timestamp: at(6), data: { ...data, version } },
    ]);
  });
});

test("GET /deployments", async (t) => {
  const here = await world(t);
  const [web, shop] = [await here.project("web"), await here.project("shop")];
  const first = await deployAndFinish(here, web.id);
  const second = await here.deploy(web.id, { environment: "staging", ...source("next") });
  const third = await here.deploy(shop.id);
  const list = async (query: string) =>
    expect(await here.call("viewer", "GET", `/v1/deployments${query}`), 200).data.map(({ id }: { id: string }) => id);

  await t.test("shows the newest first, without their sources", async () => {
    const { data } = expect(await here.call("viewer", "GET", "/v1/deployments"), 200);
    assert.deepEqual(await list(""), [third.id, second.id, first.id]);
    const { source: _, ...item } = first;
    assert.deepEqual(data[2], item);
  });
  const none = "project_id=proj_01ARZ3NDEKTSV4RRFFQ69G5FAV";
  for (const [query, expected] of [
    [`?project_id=${web.id}`, [second.id, first.id]],
    ["?environment=production", [third.id, first.id]],
    ["?status=queued", [third.id, second.id]],
    ["?status=cancelled", []],
    [`?project_id=${web.id}&environment=production&status=active`, [first.id]],
    [`?${none}`, []],
    ["?project_id=&colour=blue", []],
  ] as const) {
    await t.test(`filters by ${query}`, async () => assert.deepEqual(await list(query), expected));
  }
  await t.test("refuses an unknown status", async () => {
    const answer = expect(await here.call("viewer", "GET", "/v1/deployments?status=done"), 422);
    assert.deepEqual(pathsOf(answer), ["status"]);
  });
  await t.test("shows nothing of another organization", async () => {
    assert.deepEqual(expect(await here.call("stranger", "GET", "/v1/deployments"), 200).data, []);
    for (const path of [`/v1/deployments/${first.id}`, `/v1/deployments/${first.id}/logs`]) {
      expect(await here.call("stranger", "GET", path), 404);
    }
  });
});
