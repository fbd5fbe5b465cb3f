import assert from "node:assert/strict";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { bearer } from "../helpers/headers.ts";
import { check, expect, type World, world } from "../helpers/test-service.ts";

const email = "Ada@Example.com";
const mails = async (world: World) => expect(await world.call("nobody", "GET", "/_svc/mail"), 200).data;
const accept = (world: World, token: string, name = "Ada") =>
  world.call("nobody", "POST", "/v1/invitations/accept", { token, name });
const path = ({ id }: { id: string }) => `/v1/invitations/${id}`;

/** An invitation with the token of its mail. */
const invited = async (world: World, role = "developer"): Promise<{ id: string; token: string }> => {
  const { id } = expect(await world.call("owner", "POST", "/v1/users/invite", { email, role }), 201);
  return { id, token: (await mails(world)).at(-1).token };
};
const me = (world: World, key: string) => world.call("nobody", "GET", "/v1/me", undefined, bearer(key));

test("POST /invitations/accept", async (t) => {
  await t.test("makes the user, who joined now, and answers with a first key that works", async (t) => {
    const here = await world(t);
    const { id, token } = await invited(here);
    await here.service.clock.advance("3d");
    const reply = await accept(here, token, "  Ada Lovelace ");
    const { meta: _, api_key, ...user } = expect(reply, 201);
    const joined_at = "2026-01-04T00:00:00.000Z";
    const expected = { name: "Ada Lovelace", email, role: "developer", status: "active", joined_at };
    assert.deepEqual(user, { id: user.id, ...expected });
    assert.equal(reply.headers.get("location"), `/v1/users/${user.id}`);
    assert.match(api_key, /^sk_live_[A-Za-z0-9]{32,}$/);

    const who = expect(await me(here, api_key), 200);
    assert.deepEqual([who.user.id, who.organization.name, who.key.scopes], [user.id, "acme", ["*"]]);
    const { data } = expect(await here.call("viewer", "GET", "/v1/users"), 200);
    assert.deepEqual(
      data.find((one: { id: string }) => one.id === user.id),
      user,
    );
    expect(await here.call("viewer", "GET", path({ id })), 404);
    assert.deepEqual(expect(await here.call("viewer", "GET", "/v1/invitations"), 200).data, []);
  });

  await t.test("a mail that arrived without an answer to the service is not sent again", async (t) => {
    const sent: string[] = [];
    const lost = ({ text }: { readonly text: string }) => {
      sent.push(text);
      throw new Error("connection lost");
    };
    const here = await world(t, { mail: { transport: lost } });
    const { token } = await invited(here);
    await here.service.settle();
    expect(await accept(here, token), 201);
    await here.service.clock.advance("1d");
    assert.equal(sent.length, 1);
    const [{ status, attempts }] = await mails(here);
    assert.deepEqual([status, attempts.at(-1).error], ["failed", "the invitation was accepted"]);
  });

  await t.test("the new user has the role that was granted, and no more", async (t) => {
    const here = await world(t);
    const { token } = await invited(here, "viewer");
    const { api_key } = expect(await accept(here, token), 201);
    const authorization = `Bearer ${api_key}`;
    expect(await here.call("nobody", "POST", "/v1/projects", { name: "web", region: "r" }, { authorization }), 403);
  });

  await t.test("the new user is a member, in every case of the address", async (t) => {
    const here = await world(t);
    const { token } = await invited(here);
    expect(await accept(here, token), 201);
    for (const address of [email, email.toLowerCase()]) {
      const again = await here.call("owner", "POST", "/v1/users/invite", { email: address, role: "viewer" });
      assert.equal(expect(again, 409).error.code, "already_member");
    }
  });

  await check(t, {
    name: "announces nothing",
    as: "nobody",
    given: (world) => invited(world),
    when: ["POST", "/v1/invitations/accept"],
    body: ({ token }: { token: string }) => ({ token, name: "Ada" }),
    then: 201,
  });

  const broken: [object, string[]][] = [
    [{}, ["token", "name"]],
    [{ token: "t" }, ["name"]],
    [{ token: "t", name: "   " }, ["name"]],
    [{ token: "t", name: "n".repeat(129) }, ["name"]],
    [{ token: 1, name: "Ada" }, ["token"]],
  ];
  for (const [body, paths] of broken) {
    await check(t, {
      name: `refuses ${JSON.stringify(body).slice(0, 40)}`,
      as: "nobody",
      when: ["POST", "/v1/invitations/accept"],
      body,
      then: [422, "validation_failed"],
      and: (answer) => assert.deepEqual(pathsOf(answer).sort(), paths.sort()),
    });
  }
});

test("an expired, used or unknown token is one and the same 404", async (t) => {
  const here = await world(t);
  const errors: unknown[] = [];
  const refused = async (token: string) => errors.push(expect(await accept(here, token), 404).error);

  const used = await invited(here);
  expect(await accept(here, used.token), 201);
  await refused(used.token);
  await refused("a-token-that-never-was");

  const body = { email: "eve@example.com", role: "viewer" };
  expect(await here.call("owner", "POST", "/v1/users/invite", body), 201);
  const expiring = (await mails(here)).at(-1).token;
  await here.service.clock.advance("7d");
  await refused(expiring);

  const { id } = expect(await here.call("owner", "POST", "/v1/users/invite", body), 201);
  const revoked = (await mails(here)).at(-1).token;
  expect(await here.call("admin", "DELETE", path({ id })), 204);
  await refused(revoked);

  assert.equal(errors.length, 4);
  for (const error of errors) assert.deepEqual(error, errors[0]);
  assert.equal((errors[0] as { code: string }).code, "not_found");
});

test("a token works once", async (t) => {
  await t.test("of two that use it at once, one becomes a user", async (t) => {
    const here = await world(t);
    const { token } = await invited(here);
    const replies = await Promise.all([accept(here, token), accept(here, token), accept(here, token)]);
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 404, 404]);
    assert.equal(expect(await here.call("viewer", "GET", "/v1/users"), 200).data.length, 5);
  });
  await t.test("until a moment before its 7 days have passed", async (t) => {
    const here = await world(t);
    const { token } = await invited(here);
    await here.service.clock.advanceTo("2026-01-07T23:59:59.999Z");
    expect(await accept(here, token), 201);
  });
});

test("POST /invitations/{id}/resend", async (t) => {
  await check(t, {
    name: "sends a new token with seven more days; the old one stops",
    as: "admin",
    given: async (world) => {
      const invitation = await invited(world);
      await world.service.clock.advance("6d");
      return invitation;
    },
    when: ["POST", (invitation) => `${path(invitation)}/resend`],
    then: 200,
    and: async ({ id, invited_at, expires_at }, _reply, world, before) => {
      assert.equal(id, before.id);
      assert.deepEqual([invited_at, expires_at], ["2026-01-07T00:00:00.000Z", "2026-01-14T00:00:00.000Z"]);
      const { to, token } = (await mails(world)).at(-1);
      assert.equal(to, email);
      assert.notEqual(token, before.token);
      expect(await accept(world, before.token), 404);
      await world.service.clock.advanceTo("2026-01-13T23:59:59.999Z");
      expect(await accept(world, token), 201);
    },
  });
  await check(t, {
    name: "renews an expired one",
    as: "owner",
    given: async (world) => {
      const invitation = await invited(world);
      await world.service.clock.advance("8d");
      return invitation;
    },
    when: ["POST", (invitation) => `${path(invitation)}/resend`],
    then: 200,
    and: async (_body, _reply, world) => void expect(await accept(world, (await mails(world)).at(-1).token), 201),
  });
  await check(t, {
    name: "of an owner's is for owners only",
    as: "admin",
    given: (world) => invited(world, "owner"),
    when: ["POST", (invitation) => `${path(invitation)}/resend`],
    then: [403, "insufficient_role"],
  });
  await check(t, {
    name: "of one that was accepted is 404",
    as: "owner",
    given: async (world) => {
      const invitation = await invited(world);
      expect(await accept(world, invitation.token), 201);
      return invitation;
    },
    when: ["POST", (invitation) => `${path(invitation)}/resend`],
    then: [404, "not_found"],
  });
});

test("DELETE /invitations/{id}", async (t) => {
  await check(t, {
    name: "revokes it; the address can be invited again",
    as: "admin",
    given: (world) => invited(world),
    when: ["DELETE", (invitation) => path(invitation)],
    then: 204,
    and: async (_body, _reply, world, { id, token }) => {
      expect(await world.call("owner", "GET", path({ id })), 404);
      expect(await accept(world, token), 404);
      await invited(world);
    },
  });
  await check(t, {
    name: "is not for a developer",
    as: "developer",
    given: (world) => invited(world),
    when: ["DELETE", (invitation) => path(invitation)],
    then: [403, "insufficient_role"],
  });
});
