import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import * as v from "valibot";
import { catalog } from "../../lib/events/catalog.ts";
import { problems } from "../../lib/kernel/errors.ts";
import { problemsOf } from "../../lib/kernel/operation.ts";
import { operations } from "../../lib/operations.ts";
import { faults } from "../helpers/json-schema.ts";
import { read, resolved } from "../helpers/openapi-document.ts";
import { expect, world } from "../helpers/test-service.ts";

type Json = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: a document is looked into freely, and every look is an assertion
const documents = { flat: read("flat") as any, full: read("full") as any };

for (const [envelope, document] of Object.entries(documents)) {
  test(`the ${envelope} document is served without a key, as it is published`, async (t) => {
    const here = await world(t, { envelope: envelope as "flat" | "full" });
    const reply = await here.call("nobody", "GET", "/v1/openapi.json");
    assert.equal(reply.headers.get("content-type"), "application/json");
    assert.deepEqual(expect(reply, 200), document);
    expect(await here.call("nobody", "HEAD", "/v1/openapi.json"), 200);
    expect(await here.call("nobody", "POST", "/v1/openapi.json"), 401);
    expect(await here.call("viewer", "POST", "/v1/openapi.json"), 405);
  });

  test(`the ${envelope} document has every operation, with every status that it may answer`, () => {
    const found = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap(Object.values);
    assert.deepEqual(found.map(({ operationId }) => operationId).sort(), operations.map(({ id }) => id).sort());
    for (const operation of operations) {
      const { security, responses, ...described } = document.paths[operation.path][operation.method.toLowerCase()];
      const statuses = problemsOf(operation).map((code) => problems[code].status);
      for (const status of statuses.filter((one) => security.length > 0 || (one !== 401 && one !== 403)))
        assert.ok(responses[status], `${operation.id} ${status}`);
      assert.equal(described["x-addition"] ?? false, operation.addition, operation.id);
      assert.equal(security.length === 0, operation.needs === "nothing", operation.id);
    }
  });

  test(`the ${envelope} document describes every operation, with exact statuses`, () => {
    const all = [...Object.values(document.paths), ...Object.values(document.webhooks)].flatMap((one) =>
      Object.values(one as Record<string, { operationId: string; description?: string; responses: object }>),
    );
    for (const { operationId, description = "", responses } of all) {
      assert.match(description, /^[A-Z].{30,}\.$/, operationId);
      // A generated client of orval does not compile with a range such as 2XX.
      for (const status of Object.keys(responses)) assert.match(status, /^(\d{3}|default)$/, operationId);
    }
  });

  test(`every example of the ${envelope} document is valid`, () => {
    for (const operation of operations) {
      const { requestBody, responses } = document.paths[operation.path][operation.method.toLowerCase()];
      if (operation.body) {
        const { schema, example } = requestBody.content["application/json"];
        assert.deepEqual(faults(schema, example, document), [], operation.id);
        assert.deepEqual(v.safeParse(operation.body, example).issues, undefined, operation.id);
      }
      for (const response of Object.values<Json>(responses)) {
        const { content = {} } = resolved<{ content?: Record<string, { schema: Json; example: unknown }> }>(
          response,
          document,
        );
        for (const { schema, example } of Object.values(content))
          assert.deepEqual(faults(schema, example, document), [], operation.id);
      }
    }
  });
}

test("the document has the rules that SPEC has for requests", () => {
  const { paths, webhooks, components } = documents.flat;
  const body = components.schemas.NewProject;
  assert.deepEqual(body.required, ["name", "region"]);
  assert.deepEqual([body.properties.name.minLength, body.properties.name.maxLength], [3, 64]);
  const parameters = paths["/projects"].get.parameters as Json[];
  const perPage = parameters.find(({ name }) => name === "per_page");
  assert.deepEqual(perPage?.["schema"], { type: "integer", minimum: 1, maximum: 100 });
  assert.ok(paths["/projects"].post.parameters.some(({ $ref }: Json) => String($ref).endsWith("/IdempotencyKey")));
  assert.equal(paths["/projects"].post["x-scope"], "projects:write");
  assert.deepEqual(paths["/projects"].post["x-roles"], ["owner", "admin"]);
  assert.ok(paths["/projects"].post.responses[201].headers.Location);
  assert.deepEqual(Object.keys(webhooks), Object.keys(catalog));
});

test("real deliveries are what the webhooks section says", async (t) => {
  const sent: string[] = [];
  const here = await world(t);
  here.service.webhooks.sink("hook", async (request) => {
    sent.push(await request.text());
    return new Response(null);
  });
  const subscription = { url: "https://hook.inbox.test/", events: ["*"] };
  expect(await here.call("owner", "POST", "/v1/webhooks", subscription), 201);
  await here.deploy((await here.project()).id);
  await here.service.clock.advance("1m");
  assert.equal(sent.length, 4);
  for (const body of sent.map((text) => JSON.parse(text))) {
    const { schema } = documents.flat.webhooks[body.event].post.requestBody.content["application/json"];
    assert.deepEqual(faults(schema, body, documents.flat), []);
  }
});

test("an answer that breaks its schema is detected", () => {
  const { schema } = documents.flat.paths["/projects"].post.responses[201].content["application/json"];
  const { example } = documents.flat.paths["/projects"].post.responses[201].content["application/json"];
  for (const wrong of [
    { ...example, id: "proj_1" },
    { ...example, status: "gone" },
    { ...example, created_at: "yesterday" },
    { ...example, name: null },
    { ...example, meta: {} },
    [],
  ])
    assert.notDeepEqual(faults(schema, wrong, documents.flat), [], JSON.stringify(wrong));
});

test("an independent linter finds no fault in it", () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      "node_modules/@redocly/cli/bin/cli.js",
      "lint",
      "--config",
      ".redocly.yaml",
      "schema/openapi.json",
      "schema/openapi-full.json",
    ],
    { encoding: "utf8" },
  );
  assert.equal(status, 0, stdout + stderr);
});
