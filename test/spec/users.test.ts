import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seed } from "../../lib/index.ts";
import { eventsOf, pathsOf } from "../helpers/deployments.ts";
import { check, expect, keyOf, seed, start, type Who, type World, world } from "../helpers/test-service.ts";

const extra = (name: string, role: "owner" | "admin", status: "active" | "suspended" = "active") => ({
  name,
  email: `${name}@acme.test`,
  role,
  status,
  keys: [{ name, key: keyOf(role).replace(role, name) }],
});

/** `acme` with more users: by default another owner and another admin. */
const joinedBy = (...users: ReturnType<typeof extra>[]): { seed: Seed } => ({
  seed: {
    organizations: seed.organizations.map((one) =>
      one.name === "acme" ? { ...one, users: [...one.users, ...users] } : one,
    ),
  },
});
const options = joinedBy(extra("second", "owner"), extra("other", "admin"));

const people = async (world: World, who: Who = "viewer"): Promise<{ id: string; name: string; role: string }[]> =>
  expect(await world.call(who, "GET", "/v1/users"), 200).data;
const named = (name: string) => async (world: World) => {
  const found = (await people(world)).find((user) => user.name === name);
  assert.ok(found, name);
  return found;
};
const path = ({ id }: { id: string }) => `/v1/users/${id}`;
const unknown = { id: "usr_01ARZ3NDEKTSV4RRFFQ69G5FAV" };
/** The status of GET /me with the key of this name. */
const meStatus = async (world: World, name: string) =>
  (await world.call("nobody", "GET", "/v1/me", undefined, { authorization: `Bearer sk_live_demo_${name}` })).status;

test("GET /users", async (t) => {
  await check(t, {
    name: "lists the active members of the organization, to a viewer too",
    as: "viewer",
    options: joinedBy(extra("gone", "admin", "suspended")),
    when: ["GET", "/v1/users"],
    then: 200,
    and: ({ data }) => {
      assert.deepEqual(data.map(({ name }: { name: string }) => name).sort(), [
        "admin",
        "developer",
        "owner",
        "viewer",
      ]);
      for (const { id: _, name, ...user } of data) {
        assert.deepEqual(user, { email: `${name}@acme.test`, role: name, status: "active", joined_at: start });
      }
    },
  });
  await check(t, {
    name: "does not list pending invitations",
    as: "owner",
    given: async (world) =>
      expect(await world.call("owner", "POST", "/v1/users/invite", { email: "new@acme.test", role: "viewer" }), 201),
    when: ["GET", "/v1/users"],
    then: 200,
    and: ({ data }) => assert.equal(data.length, 4),
  });
  await check(t, {
    name: "shows one by id",
    as: "viewer",
    given: named("admin"),
    when: ["GET", path],
    then: 200,
    and: ({ meta: _, ...user }, _reply, _world, given) => assert.deepEqual(user, given),
  });
  for (const [method, body] of [["GET"], ["PUT", { role: "viewer" }], ["DELETE"]] as const) {
    await check(t, {
      name: `${method} of an unknown user is 404`,
      as: "owner",
      when: [method, path(unknown)],
      ...(body && { body }),
      then: [404, "not_found"],
    });
    await check(t, {
      name: `${method} of another organization's user is 404`,
      as: "stranger",
      given: named("viewer"),
      when: [method, path],
      ...(body && { body }),
      then: [404, "not_found"],
    });
  }
});

test("the right to give roles", async (t) => {
  const roles = ["owner", "admin", "developer", "viewer"];
  const targets: [string, string][] = [
    ["second", "owner"],
    ["other", "admin"],
    ["developer", "developer"],
    ["viewer", "viewer"],
  ];
  for (const who of ["owner", "admin", "developer", "viewer"] satisfies Who[]) {
    // A refused call changes nothing, so the next attempt reuses the world.
    let unchanged: World | undefined;
    for (const [name, was] of targets) {
      for (const role of roles) {
        const manages = who === "owner" || who === "admin";
        const ownership = was !== role && (was === "owner" || role === "owner");
        const may = manages && (who === "owner" || !ownership);
        await t.test(`${who} ${may ? "may" : "may not"} make ${was} ${role}`, async () => {
          const here = unchanged ?? (await world(t, options));
          unchanged = may ? undefined : here;
          const target = await named(name)(here);
          const reply = await here.call(who, "PUT", path(target), { role });
          assert.equal(reply.status, may ? 200 : 403, reply.text);
          if (!may) assert.equal(reply.body.error.code, "insufficient_role");
          const { meta: _, ...after } = expect(await here.call("viewer", "GET", path(target)), 200);
          assert.deepEqual(after, { ...target, role: may ? role : was });
          assert.deepEqual(await here.events(), []);
        });
      }
    }
  }
  for (const [what, body] of [
    ["none", {}],
    ["one that is none", { role: "boss" }],
    ["null", { role: null }],
    ["Owner", { role: "Owner" }],
  ] as const) {
    await check(t, {
      name: `a role is needed, and must not be ${what}`,
      as: "owner",
      given: named("viewer"),
      when: ["PUT", path],
      body,
      then: [422, "validation_failed"],
      and: (answer) => assert.deepEqual(pathsOf(answer), ["role"]),
    });
  }
  await check(t, {
    name: "a new role counts at once",
    as: "owner",
    given: named("viewer"),
    when: ["PUT", path],
    body: { role: "admin" },
    then: 200,
    and: async (_body, _reply, world) =>
      void (await world
        .call("viewer", "POST", "/v1/projects", { name: "web", region: "r" })
        .then((reply) => expect(reply, 201))),
  });
});

test("an organization always has at least one active owner", async (t) => {
  const alone = joinedBy(extra("asleep", "owner", "suspended"));
  const moves = [
    ["demoted", "PUT", "", { role: "admin" }],
    ["suspended", "POST", "/suspend", undefined],
    ["removed", "DELETE", "", undefined],
  ] as const;
  for (const [what, method, suffix, body] of moves) {
    await check(t, {
      name: `the last active owner cannot be ${what}, though a suspended one is there`,
      as: "owner",
      options: alone,
      given: named("owner"),
      when: [method, (user) => path(user) + suffix],
      ...(body && { body }),
      then: [409, "last_owner"],
      and: async (_body, _reply, world, owner) => {
        const { meta: _, ...after } = expect(await world.call("owner", "GET", path(owner)), 200);
        assert.deepEqual(after, owner);
      },
    });
    await check(t, {
      name: `one of two owners can be ${what}`,
      as: "owner",
      options,
      given: named("second"),
      when: [method, (user) => path(user) + suffix],
      ...(body && { body }),
      then: method === "DELETE" ? 204 : 200,
      events: method === "DELETE" ? ["user.removed"] : [],
    });
    await check(t, {
      name: `an owner is not ${what} by an admin`,
      as: "admin",
      options,
      given: named("second"),
      when: [method, (user) => path(user) + suffix],
      ...(body && { body }),
      then: [403, "insufficient_role"],
    });
  }
  await check(t, {
    name: "the last owner may be given the role of an owner, which changes nothing",
    as: "owner",
    given: named("owner"),
    when: ["PUT", path],
    body: { role: "owner" },
    then: 200,
  });
  await t.test("of two owners who demote each other at once, one stays", async (t) => {
    const here = await world(t, options);
    const [first, second] = [await named("owner")(here), await named("second")(here)];
    const authorization = `Bearer sk_live_demo_second`;
    const replies = await Promise.all([
      here.call("owner", "PUT", path(second), { role: "viewer" }),
      here.call("nobody", "PUT", path(first), { role: "viewer" }, { authorization }),
    ]);
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    assert.equal((await people(here)).filter(({ role }) => role === "owner").length, 1);
  });
  await t.test(
    "ownership is transferred: first promote another, then the former owner's role is changed",
    async (t) => {
      const here = await world(t);
      const [owner, admin] = [await named("owner")(here), await named("admin")(here)];
      expect(await here.call("owner", "PUT", path(owner), { role: "admin" }), 409);
      expect(await here.call("owner", "PUT", path(admin), { role: "owner" }), 200);
      expect(await here.call("admin", "PUT", path(owner), { role: "viewer" }), 200);
      expect(await here.call("owner", "PUT", path(admin), { role: "viewer" }), 403);
      expect(await here.call("admin", "PUT", path(admin), { role: "viewer" }), 409);
      assert.equal(await meStatus(here, "owner"), 200);
      assert.deepEqual(await eventsOf(here), []);
    },
  );
});
