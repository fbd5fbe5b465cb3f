import assert from "node:assert/strict";
import { test } from "node:test";
import { deployAndFinish, deploymentNow, eventsOf, pathsOf, states, withOutcomes } from "../helpers/deployments.ts";
import { check, expect, git, start, type World, world } from "../helpers/test-service.ts";

/** A project with a description, one second after its creation. */
async function older(world: World) {
  const body = { name: "web", region: "eu-west-1", description: "the shop" };
  const { meta: _, ...project } = expect(await world.call("owner", "POST", "/v1/projects", body), 201);
  await world.service.clock.advance("1s");
  return project;
}
const later = "2026-01-01T00:00:01.000Z";
const path = ({ id }: { id: string }) => `/v1/projects/${id}`;

test("PUT /projects/{id}", async (t) => {
  const changes: [string, object, object][] = [
    ["changes the name alone", { name: "shop" }, { name: "shop" }],
    ["trims the name", { name: "  shop " }, { name: "shop" }],
    ["changes the case of its own name", { name: "WEB" }, { name: "WEB" }],
    ["changes the description alone", { description: "new" }, { description: "new" }],
    ["clears the description by an empty string", { description: "" }, { description: null }],
    ["clears the description by null", { description: null }, { description: null }],
    ["refreshes updated_at even when nothing is asked", {}, {}],
    ["refreshes updated_at even when nothing changed", { name: "web", description: "the shop" }, {}],
    ["accepts an equal region", { region: "eu-west-1" }, {}],
    ["ignores unknown and fixed fields", { id: "proj_1", status: "archived", created_at: "x", colour: 1 }, {}],
  ];
  for (const [name, body, changed] of changes) {
    await check(t, {
      name,
      as: "admin",
      given: older,
      when: ["PUT", path],
      body,
      then: 200,
      and: async ({ meta: _, ...after }, _reply, world, before) => {
        assert.deepEqual(after, { ...before, ...changed, updated_at: later });
        const { meta: _meta, ...read } = expect(await world.call("viewer", "GET", path(before)), 200);
        assert.deepEqual(read, after);
      },
    });
  }

  const refusals: [string, object, string][] = [
    ["a different region", { region: "us-east-1" }, "region"],
    ["the same region in another case", { region: "EU-WEST-1" }, "region"],
    ["a name that is too short", { name: "ab" }, "name"],
    ["a name that is too long", { name: "n".repeat(65) }, "name"],
    ["a name of null", { name: null }, "name"],
    ["a description that is too long", { description: "d".repeat(256) }, "description"],
  ];
  for (const [what, body, broken] of refusals) {
    await check(t, {
      name: `refuses ${what}, and changes nothing`,
      as: "owner",
      given: older,
      when: ["PUT", path],
      body: { name: "shop", ...body },
      then: [422, "validation_failed"],
      and: async (answer, _reply, world, before) => {
        assert.deepEqual(pathsOf(answer), [broken]);
        const { meta: _, ...read } = expect(await world.call("viewer", "GET", path(before)), 200);
        assert.deepEqual(read, before);
      },
    });
  }

  await check(t, {
    name: "refuses the name of another project",
    as: "owner",
    given: async (world) => {
      await world.project("Shop");
      return older(world);
    },
    when: ["PUT", path],
    body: { name: "sHOP" },
    then: [409, "name_taken"],
  });
  await check(t, {
    name: "needs a body",
    as: "owner",
    given: older,
    when: ["PUT", path],
    then: [400, "invalid_json"],
  });
  await check(t, {
    name: "is not for a developer",
    as: "developer",
    given: older,
    when: ["PUT", path],
    body: { name: "shop" },
    then: [403, "insufficient_role"],
  });
});

test("an archived project", async (t) => {
  const archived = async (world: World) => {
    const project = await older(world);
    expect(await world.call("admin", "POST", `${path(project)}/archive`), 200);
    return project;
  };
  await check(t, {
    name: "says so and can be read; archiving announces nothing",
    as: "owner",
    given: older,
    when: ["POST", (project) => `${path(project)}/archive`],
    then: 200,
    and: async ({ meta: _, ...after }, _reply, world, before) => {
      assert.deepEqual(after, { ...before, status: "archived", updated_at: later });
      const { data } = expect(await world.call("viewer", "GET", "/v1/projects"), 200);
      assert.deepEqual(data, [after]);
    },
  });
  await check(t, {
    name: "can be updated",
    as: "owner",
    given: archived,
    when: ["PUT", path],
    body: { name: "shop" },
    then: 200,
    and: ({ name, status }) => assert.deepEqual([name, status], ["shop", "archived"]),
  });
  await check(t, {
    name: "can be deleted",
    as: "owner",
    given: archived,
    when: ["DELETE", path],
    then: 204,
    events: ["project.deleted"],
  });
  await check(t, {
    name: "refuses deployments",
    as: "developer",
    given: archived,
    when: ["POST", "/v1/deployments"],
    body: ({ id }: { id: string }) => ({ project_id: id, environment: "production", source: git }),
    then: [409, "project_archived"],
  });
  await check(t, {
    name: "refuses rollbacks",
    as: "developer",
    given: async (world) => {
      const project = await older(world);
      await deployAndFinish(world, project.id);
      const second = await deployAndFinish(world, project.id);
      expect(await world.call("admin", "POST", `${path(project)}/archive`), 200);
      return second;
    },
    when: ["POST", ({ id }) => `/v1/deployments/${id}/rollback`],
    then: [409, "project_archived"],
  });
  await check(t, {
    name: "takes deployments again once it is unarchived",
    as: "owner",
    given: archived,
    when: ["POST", (project) => `${path(project)}/unarchive`],
    then: 200,
    and: async ({ status, id }, _reply, world) => {
      assert.equal(status, "active");
      await world.deploy(id);
    },
  });
  await check(t, {
    name: "archiving is not for a developer",
    as: "developer",
    given: older,
    when: ["POST", (project) => `${path(project)}/archive`],
    then: [403, "insufficient_role"],
  });
});

test("DELETE /projects/{id}", async (t) => {
  await check(t, {
    name: "removes the project and everything in it, and announces it",
    as: "admin",
    given: async (world) => {
      const project = await older(world);
      const released = await deployAndFinish(world, project.id);
      return { ...project, released };
    },
    when: ["DELETE", (project) => path(project)],
    then: 204,
    events: ["project.deleted"],
    and: async (body, _reply, world, { id, released }) => {
      assert.equal(body, undefined);
      const last = (await eventsOf(world)).at(-1);
      assert.deepEqual(last?.data, { project_id: id, name: "web", region: "eu-west-1" });
      for (const gone of [path({ id }), `/v1/deployments/${released.id}`, `/v1/deployments/${released.id}/logs`]) {
        expect(await world.call("owner", "GET", gone), 404);
      }
      for (const list of ["/v1/projects", "/v1/deployments", `/v1/deployments?project_id=${id}`]) {
        assert.deepEqual(expect(await world.call("owner", "GET", list), 200).data, []);
      }
      expect(await world.call("owner", "DELETE", path({ id })), 404);
    },
  });

  for (const [state, by] of [
    ["queued", "0s"],
    ["building", "2s"],
    ["deploying", "5s"],
  ] as const) {
    await t.test(`stops work that is ${state}`, async (t) => {
      const here = await world(t);
      const { id } = await here.project();
      const deployment = await here.deploy(id);
      await here.service.clock.advance(by);
      assert.equal((await deploymentNow(here, deployment.id)).status, state);
      expect(await here.call("owner", "DELETE", path({ id })), 204);
      const before = await here.events();
      await here.service.clock.advance("1h");
      assert.deepEqual(await here.events(), before);
      assert.equal(before.at(-1), "project.deleted");
      expect(await here.call("owner", "GET", `/v1/deployments/${deployment.id}`), 404);
    });
  }

  await t.test("lets deployments that waited for its slots start at once", async (t) => {
    const here = await world(
      t,
      withOutcomes(() => undefined, { concurrency: 1 }),
    );
    const [first, second] = [await here.project("first"), await here.project("second")];
    await here.deploy(first.id);
    const waiting = await here.deploy(second.id);
    await here.service.clock.advance("2s");
    assert.deepEqual(await states(here, waiting), ["queued"]);
    expect(await here.call("owner", "DELETE", path(first)), 204);
    assert.deepEqual(await states(here, waiting), ["building"]);
  });

  await t.test("leaves other projects alone", async (t) => {
    const here = await world(t);
    const [first, second] = [await here.project("first"), await here.project("second")];
    const kept = await here.deploy(second.id);
    expect(await here.call("owner", "DELETE", path(first)), 204);
    await here.service.clock.advance("6s");
    const { status, created_at } = await deploymentNow(here, kept.id);
    assert.deepEqual([status, created_at], ["active", start]);
  });

  await check(t, {
    name: "is not for a developer",
    as: "developer",
    given: older,
    when: ["DELETE", path],
    then: [403, "insufficient_role"],
  });
});
