import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, pathsOf } from "../helpers/deployments.ts";
import { check, expect, keyOf, start, type Who, type World, world } from "../helpers/test-service.ts";

const email = "ada@example.com";
const body = { email, role: "developer" };
const week = "2026-01-08T00:00:00.000Z";

const invite = async (world: World, more: object = {}, who: Who = "owner") =>
  expect(await world.call(who, "POST", "/v1/users/invite", { ...body, ...more }), 201);
const mails = async (world: World) => expect(await world.call("nobody", "GET", "/_svc/mail"), 200).data;
const accept = async (world: World, token: string, name = "Ada") =>
  world.call("nobody", "POST", "/v1/invitations/accept", { token, name });
const lastToken = async (world: World): Promise<string> => (await mails(world)).at(-1).token;
const path = ({ id }: { id: string }) => `/v1/invitations/${id}`;

test("POST /users/invite", async (t) => {
  await check(t, {
    name: "makes an invitation that expires 7 days after creation, and announces it",
    as: "admin",
    when: ["POST", "/v1/users/invite"],
    body,
    then: 201,
    events: ["user.invited"],
    and: async ({ meta: _, id, ...invitation }, { headers }, world) => {
      assert.equal(headers.get("location"), path({ id }));
      const kept = { mail_status: "kept", mail_error: null };
      assert.deepEqual(invitation, { ...body, invited_at: start, expires_at: week, ...kept });
      const data = { invitation_id: id, ...body, expires_at: week };
      assert.deepEqual(await eventsOf(world), [{ event: "user.invited", timestamp: start, data }]);
      const { meta: _meta, ...read } = expect(await world.call("viewer", "GET", path({ id })), 200);
      assert.deepEqual(read, { id, ...invitation });
      assert.deepEqual(expect(await world.call("viewer", "GET", "/v1/invitations"), 200).data, [read]);
    },
  });

  await check(t, {
    name: "sends the token by mail, and only there",
    as: "owner",
    when: ["POST", "/v1/users/invite"],
    body,
    then: 201,
    events: ["user.invited"],
    and: async (_answer, { text }, world) => {
      const [mail, ...more] = await mails(world);
      assert.deepEqual(more, []);
      const { token, link, subject, ...rest } = mail;
      assert.deepEqual([rest.to, rest.sent_at], [email, start]);
      assert.ok(token.length >= 32 && subject.length > 0);
      assert.ok(link.includes(token) && rest.text.includes(token));
      assert.ok(!text.includes(token));
      assert.ok(!(await world.call("owner", "GET", "/v1/events")).text.includes(token));
      assert.ok(!(await world.call("owner", "GET", "/v1/invitations")).text.includes(token));
    },
  });

  for (const [who, role, status] of [
    ["owner", "owner", 201],
    ["owner", "admin", 201],
    ["owner", "viewer", 201],
    ["admin", "owner", 403],
    ["admin", "admin", 201],
    ["admin", "viewer", 201],
    ["developer", "viewer", 403],
    ["viewer", "viewer", 403],
  ] as const) {
    await check(t, {
      name: `${who} ${status === 201 ? "may" : "may not"} invite as ${role}`,
      as: who,
      when: ["POST", "/v1/users/invite"],
      body: { email, role },
      then: status === 201 ? 201 : [403, "insufficient_role"],
      events: status === 201 ? ["user.invited"] : [],
      and: async (_answer, _reply, world) => assert.equal((await mails(world)).length, status === 201 ? 1 : 0),
    });
  }

  const refused: [string, object, string[]][] = [
    ["no e-mail address", { role: "viewer" }, ["email"]],
    ["an address without a host", { email: "ada", role: "viewer" }, ["email"]],
    ["an address with a line break", { email: "ada@example.com\nBcc: x@example.com", role: "viewer" }, ["email"]],
    ["an address of 255 characters", { email: `${"a".repeat(243)}@example.com`, role: "viewer" }, ["email"]],
    ["an address of null", { email: null, role: "viewer" }, ["email"]],
    ["no role", { email }, ["role"]],
    ["a role that is none", { email, role: "boss" }, ["role"]],
    ["neither", {}, ["email", "role"]],
  ];
  for (const [what, given, paths] of refused) {
    await check(t, {
      name: `refuses ${what}`,
      as: "owner",
      when: ["POST", "/v1/users/invite"],
      body: given,
      then: [422, "validation_failed"],
      and: (answer) => assert.deepEqual(pathsOf(answer), paths),
    });
  }
});

test("who can be invited", async (t) => {
  for (const [name, address] of [
    ["a member", "viewer@acme.test"],
    ["a member in another case", "Viewer@ACME.Test"],
  ] as const) {
    await check(t, {
      name: `not ${name}`,
      as: "owner",
      when: ["POST", "/v1/users/invite"],
      body: { email: address, role: "viewer" },
      then: [409, "already_member"],
    });
  }
  for (const [name, address] of [
    ["who is invited", email],
    ["who is invited, in another case", "ADA@Example.COM"],
  ] as const) {
    await check(t, {
      name: `not ${name}, until a moment before the invitation expires`,
      as: "owner",
      given: async (world) => {
        await invite(world);
        await world.service.clock.advanceTo("2026-01-07T23:59:59.999Z");
      },
      when: ["POST", "/v1/users/invite"],
      body: { email: address, role: "viewer" },
      then: [409, "invitation_pending"],
    });
  }
  await check(t, {
    name: "an address whose invitation has expired; the new invitation is another",
    as: "owner",
    given: async (world) => {
      const before = await invite(world);
      const token = await lastToken(world);
      await world.service.clock.advance("7d");
      return { id: before.id, token };
    },
    when: ["POST", "/v1/users/invite"],
    body: { email: "Ada@example.com", role: "viewer" },
    then: 201,
    events: ["user.invited"],
    and: async ({ id, expires_at }, _reply, world, before) => {
      assert.notEqual(id, before.id);
      assert.equal(expires_at, "2026-01-15T00:00:00.000Z");
      expect(await accept(world, before.token), 404);
      assert.equal(expect(await accept(world, await lastToken(world)), 201).role, "viewer");
    },
  });
  await check(t, {
    name: "a member of another organization, who then is another user here",
    as: "owner",
    given: async () => {},
    when: ["POST", "/v1/users/invite"],
    body: { email: "stranger@globex.test", role: "viewer" },
    then: 201,
    events: ["user.invited"],
    and: async (_answer, _reply, world) => {
      const user = expect(await accept(world, await lastToken(world)), 201);
      expect(await world.call("stranger", "GET", `/v1/users/${user.id}`), 404);
      expect(await world.call("viewer", "GET", `/v1/users/${user.id}`), 200);
    },
  });
  await t.test("of two invitations to one address at once, one is made", async (t) => {
    const here = await world(t);
    const addresses = [email, "ADA@example.com", "Ada@Example.com"];
    const replies = await Promise.all(
      addresses.map((one) => here.call("owner", "POST", "/v1/users/invite", { ...body, email: one })),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409, 409]);
    assert.equal((await mails(here)).length, 1);
  });
});

test("an invitation of another organization is 404", async (t) => {
  for (const [method, suffix] of [
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/resend"],
  ] as const) {
    await check(t, {
      name: `${method} ${suffix}`,
      as: "stranger",
      given: (world) => invite(world),
      when: [method, (invitation) => path(invitation) + suffix],
      then: [404, "not_found"],
    });
  }
  await check(t, {
    name: "and is not listed",
    as: "stranger",
    given: (world) => invite(world),
    when: ["GET", "/v1/invitations"],
    then: 200,
    and: ({ data }) => assert.deepEqual(data, []),
  });
});

test("every address that a form of HTML takes is one, in invitations, seeds and mails", async (t) => {
  const addresses = ["pat.o'neil@example.com", "ada@xn--mnchen-3ya.example", "ada@example.xn--p1ai", "a=b@example.com"];
  const users = addresses.map((address, i) => ({ name: `${i}`, email: address, role: "viewer" }) as const);
  const keys = [{ key: keyOf("owner") }];
  const owner = { name: "Olga", email: "olga@acme.test", role: "owner", keys } as const;
  const seeded = await world(t, { seed: { organizations: [{ name: "acme", users: [owner, ...users] }] } });
  const here = await world(t);
  for (const address of addresses) {
    const given = { email: address, role: "viewer" };
    assert.equal(expect(await here.call("owner", "POST", "/v1/users/invite", given), 201).email, address);
    assert.equal((await here.service.mails()).at(-1)?.to, address);
    const again = await seeded.call("owner", "POST", "/v1/users/invite", given);
    assert.deepEqual([again.status, again.body.error.code], [409, "already_member"]);
  }
  for (const wrong of ["two@at@example.com", "a b@example.com", "@example.com", "ada@-a.example", "ada@a..example"])
    expect(await here.call("owner", "POST", "/v1/users/invite", { email: wrong, role: "viewer" }), 422);
});
