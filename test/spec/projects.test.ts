import assert from "node:assert/strict";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { check, expect, start, type Who, world } from "../helpers/test-service.ts";

const order = { name: "web", region: "eu-west-1" };
const many = { rateLimit: 1_000_000 };

test("POST /projects", async (t) => {
  await check(t, {
    name: "creates an active project and announces it",
    as: "admin",
    when: ["POST", "/v1/projects"],
    body: { ...order, name: "  web  ", description: "the shop", unknown: 1 },
    then: 201,
    events: ["project.created"],
    and: ({ meta: _, id, ...project }, { headers }) => {
      assert.equal(headers.get("location"), `/v1/projects/${id}`);
      assert.deepEqual(project, {
        ...order,
        description: "the shop",
        status: "active",
        created_at: start,
        updated_at: start,
      });
    },
  });

  await check(t, {
    name: "announces project_id, name and region, and nothing more",
    as: "owner",
    when: ["POST", "/v1/projects"],
    body: { ...order, description: "kept out of the event" },
    then: 201,
    events: ["project.created"],
    and: async ({ id }, _reply, world) => {
      const [event] = expect(await world.call("viewer", "GET", "/v1/events"), 200).data;
      assert.deepEqual(event.data, { project_id: id, ...order });
      assert.equal(event.timestamp, start);
    },
  });

  for (const who of ["developer", "viewer"] satisfies Who[]) {
    await check(t, {
      name: `is not for a ${who}`,
      as: who,
      when: ["POST", "/v1/projects"],
      body: order,
      then: [403, "insufficient_role"],
    });
  }
});

test("the fields of a new project", async (t) => {
  const here = await world(t, many);
  const create = (body: object) => here.call("owner", "POST", "/v1/projects", { ...order, ...body });
  const face = "😀";

  const accepted: [string, object, object?][] = [
    ["a name of 3 characters", { name: "abc" }],
    ["a name of 64 characters", { name: "n".repeat(64) }],
    ["a name of 3 characters beyond the basic plane", { name: face.repeat(3) }],
    ["a name of 64 characters beyond the basic plane", { name: face.repeat(64) }],
    ["a name of 64 characters with spaces around it", { name: `  ${"m".repeat(64)}\t` }, { name: "m".repeat(64) }],
    ["a region of 1 character", { name: "one", region: "a" }],
    ["a region of 64 characters", { name: "long", region: "r".repeat(64) }],
    ["a region of every kind of character", { name: "kinds", region: "Az09._-" }],
    ["no description", { name: "without" }, { description: null }],
    ["a description of null", { name: "null", description: null }, { description: null }],
    ["an empty description", { name: "empty", description: "" }, { description: null }],
    ["a description of 255 characters", { name: "d255", description: "d".repeat(255) }],
    ["a description of 255 characters beyond the basic plane", { name: "f255", description: face.repeat(255) }],
  ];
  for (const [what, body, shown = body] of accepted) {
    await t.test(`takes ${what}`, async () => {
      const project = expect(await create(body), 201);
      for (const [field, value] of Object.entries(shown)) assert.equal(project[field], value);
    });
  }

  const refused: [string, object, string][] = [
    ["a name of 2 characters", { name: "ab" }, "name"],
    ["a name of 2 characters that take 4 code units", { name: face.repeat(2) }, "name"],
    ["a name of 65 characters", { name: "n".repeat(65) }, "name"],
    ["a name of 65 characters beyond the basic plane", { name: face.repeat(65) }, "name"],
    ["a name of 2 characters with spaces around it", { name: "   ab   " }, "name"],
    ["no name", { name: undefined }, "name"],
    ["a name of null", { name: null }, "name"],
    ["a name that is a number", { name: 123 }, "name"],
    ["a name with U+0000", { name: "a\u0000bc" }, "name"],
    ["a name with a lone surrogate", { name: "abc\ud800" }, "name"],
    ["no region", { region: undefined }, "region"],
    ["an empty region", { region: "" }, "region"],
    ["a region of 65 characters", { region: "r".repeat(65) }, "region"],
    ["a region with a space", { region: "eu west" }, "region"],
    ["a region with a slash", { region: "eu/west" }, "region"],
    ["a region with a line break at its end", { region: "eu-west-1\n" }, "region"],
    ["a region with an umlaut", { region: "köln" }, "region"],
    ["a region that is a list", { region: ["eu-west-1"] }, "region"],
    ["a description of 256 characters", { description: "d".repeat(256) }, "description"],
    ["a description of 256 characters beyond the basic plane", { description: face.repeat(256) }, "description"],
    ["a description that is a number", { description: 1 }, "description"],
    ["a description with U+0000", { description: "\u0000" }, "description"],
  ];
  for (const [what, body, path] of refused) {
    await t.test(`refuses ${what}`, async () => {
      const answer = expect(await create({ name: "refused", ...body }), 422);
      assert.deepEqual(pathsOf(answer), [path]);
      assert.ok(answer.error.message.startsWith(`${path} `), answer.error.message);
    });
  }

  await t.test("lists every broken rule at once", async () => {
    const answer = expect(await create({ name: "", region: "", description: "d".repeat(256) }), 422);
    assert.deepEqual(pathsOf(answer).sort(), ["description", "name", "region"]);
  });
});

test("a project's name is unique in its organization, without regard to case", async (t) => {
  const pairs = [
    ["web", "WEB"],
    ["STRAßE Ä", "strasse ä"],
    ["straße", "STRAẞE"],
    ["ΟΔΟΣ", "οδος"],
    ["москва", "МОСКВА"],
    ["  web", "Web  "],
  ] as const;
  for (const [taken, name] of pairs) {
    await check(t, {
      name: `refuses "${name}" where "${taken}" is`,
      as: "owner",
      given: (world) => world.project(taken),
      when: ["POST", "/v1/projects"],
      body: { ...order, name },
      then: [409, "name_taken"],
      and: ({ error }) =>
        assert.ok(error.message.includes(`another project is named "${taken.trim()}"`), error.message),
    });
  }

  await check(t, {
    name: "another organization may use it",
    as: "stranger",
    given: (world) => world.project("web"),
    when: ["POST", "/v1/projects"],
    body: order,
    then: 201,
    and: ({ name }) => assert.equal(name, "web"),
  });

  await check(t, {
    name: "an archived project keeps its name",
    as: "owner",
    given: async (world) => {
      const { id } = await world.project();
      expect(await world.call("owner", "POST", `/v1/projects/${id}/archive`), 200);
    },
    when: ["POST", "/v1/projects"],
    body: order,
    then: [409, "name_taken"],
  });

  await check(t, {
    name: "a deleted project's name is free again",
    as: "owner",
    given: async (world) => {
      const { id } = await world.project();
      expect(await world.call("owner", "DELETE", `/v1/projects/${id}`), 204);
    },
    when: ["POST", "/v1/projects"],
    body: order,
    then: 201,
    events: ["project.created"],
  });

  await t.test("of two that create it at once, one wins", async (t) => {
    const here = await world(t);
    const names = ["web", "Web", "WEB", "wEb"];
    const replies = await Promise.all(
      names.map((name) => here.call("owner", "POST", "/v1/projects", { ...order, name })),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409, 409, 409]);
    assert.deepEqual(await here.events(), ["project.created"]);
  });
});

test("the option regions narrows the regions to a list", async (t) => {
  const options = { regions: ["eu-west-1", "us-east-1"] };
  await check(t, {
    name: "one of the list is taken",
    as: "owner",
    options,
    when: ["POST", "/v1/projects"],
    body: { ...order, region: "us-east-1" },
    then: 201,
    events: ["project.created"],
  });
  for (const region of ["mars-1", "US-EAST-1"]) {
    await check(t, {
      name: `${region} is refused, with the list`,
      as: "owner",
      options,
      when: ["POST", "/v1/projects"],
      body: { ...order, region },
      then: [422, "validation_failed"],
      and: (body) => {
        assert.deepEqual(pathsOf(body), ["region"]);
        assert.match(body.error.message, /eu-west-1, us-east-1/);
      },
    });
  }
});

test("GET /projects/{id}", async (t) => {
  await check(t, {
    name: "answers the project that was created, to a viewer too",
    as: "viewer",
    given: (world) => world.project(),
    when: ["GET", ({ id }) => `/v1/projects/${id}`],
    then: 200,
    and: ({ meta: _, ...project }, _reply, _world, { meta: _meta, ...created }) => assert.deepEqual(project, created),
  });
  for (const [method, suffix] of [
    ["GET"],
    ["PUT"],
    ["DELETE"],
    ["POST", "/archive"],
    ["POST", "/unarchive"],
  ] as const) {
    await check(t, {
      name: `${method} ${suffix ?? ""} of another organization's project is 404`,
      as: "stranger",
      given: (world) => world.project(),
      when: [method, ({ id }) => `/v1/projects/${id}${suffix ?? ""}`],
      ...(method === "PUT" && { body: { name: "mine" } }),
      then: [404, "not_found"],
    });
  }
});
