import assert from "node:assert/strict";
import { test } from "node:test";
import { check, start } from "../world.ts";

const order = { name: "web", region: "eu-west-1" };

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
    name: "refuses a name that is taken, without regard to case in all of Unicode",
    as: "owner",
    given: (world) => world.project("STRAßE Ä"),
    when: ["POST", "/v1/projects"],
    body: { ...order, name: "strasse ä" },
    then: [409, "name_taken"],
  });
});
