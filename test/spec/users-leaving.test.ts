import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf } from "../helpers/deployments.ts";
import { check, expect, keyOf, type Who, type World, world } from "../helpers/test-service.ts";

const named =
  (role: string) =>
  async (world: World): Promise<{ id: string; email: string; role: string }> => {
    const { data } = expect(await world.call("owner", "GET", "/v1/users"), 200);
    return data.find((user: { name: string }) => user.name === role);
  };
const path = ({ id }: { id: string }) => `/v1/users/${id}`;
const me = async (world: World, authorization: string) =>
  (await world.call("nobody", "GET", "/v1/me", undefined, { authorization })).status;
const bearer = (who: Exclude<Who, "nobody">) => `Bearer ${keyOf(who)}`;
const listed = async (world: World) =>
  expect(await world.call("owner", "GET", "/v1/users"), 200).data.map(({ name }: { name: string }) => name);

test("DELETE /users/{id}", async (t) => {
  await check(t, {
    name: "removes the user and announces it",
    as: "admin",
    given: named("developer"),
    when: ["DELETE", path],
    then: 204,
    events: ["user.removed"],
    and: async (body, _reply, world, { id }) => {
      assert.equal(body, undefined);
      const data = { user_id: id, email: "developer@acme.test", role: "developer" };
      const timestamp = world.service.clock.now().toISOString();
      assert.deepEqual(await eventsOf(world), [{ event: "user.removed", timestamp, data }]);
      expect(await world.call("owner", "GET", path({ id })), 404);
      expect(await world.call("owner", "DELETE", path({ id })), 404);
      assert.deepEqual((await listed(world)).sort(), ["admin", "owner", "viewer"]);
    },
  });
  await check(t, {
    name: "revokes all of the user's keys at once, and nobody else's",
    as: "owner",
    given: async (world) => {
      const { key } = await world.service.keys.create({ organization: "acme", role: "developer" });
      assert.equal(await me(world, `Bearer ${key}`), 200);
      return { ...(await named("developer")(world)), key };
    },
    when: ["DELETE", ({ id }) => path({ id })],
    then: 204,
    events: ["user.removed"],
    and: async (_body, _reply, world, { key }) => {
      assert.equal(await me(world, `Bearer ${key}`), 401);
      assert.equal(await me(world, bearer("developer")), 401);
      assert.equal(await me(world, bearer("viewer")), 200);
      assert.equal(await me(world, bearer("stranger")), 200);
    },
  });
  await check(t, {
    name: "lets the same address be invited again",
    as: "owner",
    given: async (world) => {
      expect(await world.call("owner", "DELETE", path(await named("developer")(world))), 204);
    },
    when: ["POST", "/v1/users/invite"],
    body: { email: "developer@acme.test", role: "viewer" },
    then: 201,
    events: ["user.invited"],
  });
  await check(t, {
    name: "leaves what the user made",
    as: "owner",
    given: async (world) => {
      const { id } = await world.project();
      const body = { project_id: id, environment: "production", source: { type: "git", repo: "acme/web" } };
      const { id: made } = expect(await world.call("developer", "POST", "/v1/deployments", body), 201);
      return { ...(await named("developer")(world)), made };
    },
    when: ["DELETE", ({ id }) => path({ id })],
    then: 204,
    events: ["user.removed"],
    and: async (_body, _reply, world, { made }) => {
      await world.service.clock.advance("6s");
      const { status } = expect(await world.call("viewer", "GET", `/v1/deployments/${made}`), 200);
      assert.equal(status, "active");
    },
  });
  await check(t, {
    name: "an admin may remove themselves",
    as: "admin",
    given: named("admin"),
    when: ["DELETE", path],
    then: 204,
    events: ["user.removed"],
    and: async (_body, _reply, world) => assert.equal(await me(world, bearer("admin")), 401),
  });
  for (const who of ["developer", "viewer"] satisfies Who[]) {
    await check(t, {
      name: `is not for a ${who}, not even of themselves`,
      as: who,
      given: named(who),
      when: ["DELETE", path],
      then: [403, "insufficient_role"],
    });
  }
});

test("a suspended user", async (t) => {
  const suspended = async (world: World) => {
    const user = await named("developer")(world);
    expect(await world.call("admin", "POST", `${path(user)}/suspend`), 200);
    return user;
  };
  await check(t, {
    name: "is listed only where suspended users are asked for, and can be read by id",
    as: "viewer",
    given: suspended,
    when: ["GET", path],
    then: 200,
    and: async ({ status, id }, _reply, world) => {
      assert.equal(status, "suspended");
      const { data } = expect(await world.call("viewer", "GET", "/v1/users?status=suspended"), 200);
      assert.deepEqual([data.length, data[0].id], [1, id]);
      assert.deepEqual((await listed(world)).sort(), ["admin", "owner", "viewer"]);
    },
  });
  await check(t, {
    name: "cannot use a key from then on",
    as: "developer",
    given: suspended,
    when: ["GET", "/v1/me"],
    then: [401, "unauthorized"],
  });
  await check(t, {
    name: "can use the same key again once reactivated",
    as: "admin",
    given: suspended,
    when: ["POST", (user) => `${path(user)}/reactivate`],
    then: 200,
    and: async ({ status }, _reply, world) => {
      assert.equal(status, "active");
      assert.equal(await me(world, bearer("developer")), 200);
      assert.equal((await listed(world)).length, 4);
    },
  });
  await check(t, {
    name: "is still a member, and cannot be invited",
    as: "owner",
    given: suspended,
    when: ["POST", "/v1/users/invite"],
    body: { email: "developer@acme.test", role: "viewer" },
    then: [409, "already_member"],
  });
  await check(t, {
    name: "can be removed, which is announced",
    as: "owner",
    given: suspended,
    when: ["DELETE", path],
    then: 204,
    events: ["user.removed"],
  });
  for (const [who, then] of [
    ["developer", [403, "insufficient_role"]],
    ["stranger", [404, "not_found"]],
  ] as const) {
    for (const move of ["suspend", "reactivate"]) {
      await check(t, {
        name: `${move} is not for a ${who}`,
        as: who,
        given: named("viewer"),
        when: ["POST", (user) => `${path(user)}/${move}`],
        then,
      });
    }
  }
  await t.test("a deployment that they made goes on", async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const deployment = await here.deploy(id);
    await suspended(here);
    await here.service.clock.advance("6s");
    const { status } = expect(await here.call("viewer", "GET", `/v1/deployments/${deployment.id}`), 200);
    assert.equal(status, "active");
  });
});
