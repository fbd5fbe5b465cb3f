import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyText, runs } from "../properties.ts";
import { world } from "../world.ts";

const many = { rateLimit: 1_000_000 };

const text = fc.oneof(anyText(), fc.string({ unit: "grapheme" }), fc.constantFrom("web", "eu-west-1", "", "\u0000"));
const anything = fc.oneof({ maxDepth: 3 }, text, fc.jsonValue(), fc.integer(), fc.constantFrom(null, true, [], {}));

const project = fc.record(
  {
    name: fc.oneof(fc.string({ minLength: 3, maxLength: 64 }), anything),
    region: fc.oneof(fc.constant("eu-west-1"), anything),
    description: anything,
  },
  { requiredKeys: [] },
);

const source = fc.record(
  {
    type: fc.oneof(fc.constantFrom("git", "image"), anything),
    repo: fc.oneof(fc.constant("acme/web"), anything),
    branch: anything,
    tag: anything,
    image_url: fc.oneof(fc.constant("registry.test/web:1"), anything),
  },
  { requiredKeys: [] },
);

/** As JSON, and sometimes with a piece cut out or put in. */
const bodyOf = (object: fc.Arbitrary<unknown>) =>
  fc.oneof(
    { weight: 4, arbitrary: object.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: anything.map((value) => JSON.stringify(value)) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(object, fc.nat(40), fc.nat(3), text)
        // A pair of surrogates that was cut in two could not be sent as UTF-8.
        .map(([value, at, cut, more]) => {
          const json = JSON.stringify(value);
          return (json.slice(0, at) + more + json.slice(at + cut)).toWellFormed();
        }),
    },
  );

test("No body makes POST /v1/projects answer 5xx", async (t) => {
  const { call } = await world(t, many);
  await fc.assert(
    fc.asyncProperty(bodyOf(project), async (body) => {
      const { status, body: answer } = await call("owner", "POST", "/v1/projects", body);
      assert.ok([201, 400, 409, 422].includes(status), `${status}`);
      if (status === 201) {
        assert.deepEqual(answer.name, JSON.parse(body).name.trim(), "what is stored is what was sent");
      }
    }),
    runs(50),
  );
});

test("No body makes POST /v1/deployments answer 5xx", async (t) => {
  const here = await world(t, many);
  const { id } = await here.project();
  const deployment = fc.record(
    {
      project_id: fc.oneof({ weight: 3, arbitrary: fc.constant(id) }, anything),
      environment: fc.oneof({ weight: 3, arbitrary: fc.constant("production") }, anything),
      source: fc.oneof({ weight: 5, arbitrary: source }, anything),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(bodyOf(deployment), async (body) => {
      const { status } = await here.call("owner", "POST", "/v1/deployments", body);
      assert.ok([201, 400, 404, 422].includes(status), `${status}`);
    }),
    runs(50),
  );
  await here.service.clock.advance("1h");
  const { status } = await here.call("owner", "GET", "/v1/deployments");
  assert.equal(status, 200, "what was taken can also be run and read");
});

test("No query makes a list answer 5xx", async (t) => {
  const { call } = await world(t, many);
  const name = fc.oneof(
    fc.constantFrom("per_page", "cursor", "project_id", "environment", "status", "__proto__"),
    text,
  );
  const query = fc.array(fc.tuple(name, text), { maxLength: 4 }).map((pairs) => new URLSearchParams(pairs));
  await fc.assert(
    fc.asyncProperty(query, async (query) => {
      const { status } = await call("viewer", "GET", `/v1/deployments?${query}`);
      assert.ok(status === 200 || status === 422, `${status}`);
    }),
    runs(25),
  );
});
