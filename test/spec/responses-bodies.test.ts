import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../helpers/fast-check.ts";
import { bearer, jsonBearer } from "../helpers/headers.ts";
import { anyText, runs } from "../helpers/properties.ts";
import { expect, git, keyOf, world } from "../helpers/test-service.ts";

const order = { name: "web", region: "eu-west-1" };
const invalid = (body: { error: { code: string } }) => assert.equal(body.error.code, "invalid_json");

/** An object with this many levels of nesting, itself included. */
const levels = (count: number) => `{"x":${"[".repeat(count - 1)}${"]".repeat(count - 1)},"name":"web","region":"eu"}`;

test("A body that is no JSON object is 400", async (t) => {
  const { call } = await world(t);
  for (const body of [
    "",
    " ",
    "null",
    "true",
    "1",
    '"name"',
    "[]",
    '[{"name":"web"}]',
    "{",
    '{"name":}',
    "{'a':1}",
    "{}{}",
  ]) {
    const reply = await call("owner", "POST", "/v1/projects", body);
    assert.equal(reply.status, 400, `for ${JSON.stringify(body)}: ${reply.text}`);
    invalid(reply.body);
  }
});

test("A body that is not UTF-8 is 400", async (t) => {
  const { service } = await world(t);
  const headers = jsonBearer(keyOf("owner"));
  const body = Buffer.concat([Buffer.from('{"name":"we'), Buffer.from([0xff, 0xfe]), Buffer.from('","region":"eu"}')]);
  const response = await service.fetch("/v1/projects", { method: "POST", headers, body });
  assert.equal(response.status, 400);
  invalid((await response.json()) as { error: { code: string } });
});

test("32 levels pass, 33 are 400, and so are very many", async (t) => {
  const { call } = await world(t);
  expect(await call("owner", "POST", "/v1/projects", levels(32)), 201);
  invalid(expect(await call("owner", "POST", "/v1/projects", levels(33)), 400));
  invalid(expect(await call("owner", "POST", "/v1/projects", levels(400_000)), 400));
  invalid(expect(await call("owner", "POST", "/v1/projects", `${'{"x":'.repeat(33)}1${"}".repeat(33)}`), 400));
});

test("A deep body is refused at its 33rd level, before the rest is parsed", async (t) => {
  const { call } = await world(t);
  for (const deep of ["[", '{"x":', '[{"]}\\"":[']) {
    const body = `{"x":${deep.repeat(Math.floor(1_000_000 / deep.length))}`;
    const { error } = expect(await call("owner", "POST", "/v1/projects", body), 400);
    assert.deepEqual(error, { code: "invalid_json", message: "the body must not be nested deeper than 32 levels" });
  }
});

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

test("Any JSON is refused exactly where it is deeper than 32 levels, whatever brackets its strings hold", async (t) => {
  const { call } = await world(t, { rateLimit: 100_000 });
  const awkward = fc.oneof(anyText({ maxLength: 8 }), fc.string({ unit: fc.constantFrom(...'[]{}\\"/u5bäÛ') }));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "medium" }, awkward, fc.constant(null), tie("list"), tie("record")),
    list: fc.array(tie("value"), { maxLength: 4 }),
    record: fc.dictionary(awkward, tie("value"), { maxKeys: 4 }),
  }));
  const around = fc.array(awkward, { minLength: 25, maxLength: 33 });
  await fc.assert(
    fc.asyncProperty(around, value, fc.constantFrom(0, 2), async (names, inner, spaces) => {
      // Some names become lists, so that both kinds of brackets count.
      const wrap = (value: unknown, name: string) =>
        name.length % 2 === 0 ? { [name]: value, "]": "[" } : ["}", value];
      const body = JSON.stringify({ x: names.reduce(wrap, inner) }, undefined, spaces);
      const { error } = await call("owner", "POST", "/v1/users/invite", body).then((reply) => reply.body);
      assert.equal(error.code, depthOf(JSON.parse(body)) > 32 ? "invalid_json" : "validation_failed");
    }),
    runs(300),
  );
});

test("A body of exactly 1 MiB passes, one byte more is 413", async (t) => {
  const { call } = await world(t);
  const sized = (size: number) => {
    const head = '{"name":"web","region":"eu-west-1","unknown":"';
    return `${head}${"x".repeat(size - head.length - 2)}"}`;
  };
  expect(await call("owner", "POST", "/v1/projects", sized(1_048_576)), 201);
  const { error } = expect(await call("owner", "POST", "/v1/projects", sized(1_048_577)), 413);
  assert.equal(error.code, "body_too_large");
});

test("The limit counts bytes, not characters, and is an option", async (t) => {
  const { call } = await world(t, { bodyLimit: 100 });
  const body = (count: number) => `{"name":"web","region":"eu","x":"${"ä".repeat(count)}"}`;
  const room = Math.floor((100 - body(0).length) / 2);
  expect(await call("owner", "POST", "/v1/projects", body(room)), 201);
  expect(await call("owner", "POST", "/v1/projects", body(room + 1)), 413);
});

test("A content type may have any parameters", async (t) => {
  const { call } = await world(t);
  const send = (type: string) => call("owner", "POST", "/v1/users/invite", {}, { "content-type": type });
  for (const type of [
    "application/json",
    "application/json; charset=utf-8",
    "application/json;charset=latin1",
    "APPLICATION/Json ; x=y; z=1",
  ]) {
    assert.equal((await send(type)).status, 422, type);
  }
  for (const type of [
    "text/plain",
    "text/json",
    "application/json5",
    "application/problem+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=application/json",
    "json",
    "",
  ]) {
    const { error } = expect(await send(type), 415);
    assert.equal(error.code, "unsupported_media_type", type);
  }
});

test("A body without a type, or with an encoding, is 415", async (t) => {
  const { service, call } = await world(t);
  const headers = bearer(keyOf("owner"));
  const body = Buffer.from(JSON.stringify(order));
  const untyped = await service.fetch("/v1/projects", { method: "POST", headers, body });
  assert.equal(untyped.status, 415);
  expect(await call("owner", "POST", "/v1/projects", order, { "content-encoding": "gzip" }), 415);
  expect(await call("owner", "POST", "/v1/projects", order, { "content-encoding": "identity" }), 201);
});

test("An empty body needs no type, and an object is taken where none is needed", async (t) => {
  const { call, project, deploy } = await world(t);
  const { id } = await project();
  const cancel = async (body?: string, headers?: Record<string, string>) =>
    call("owner", "POST", `/v1/deployments/${(await deploy(id)).id}/cancel`, body, headers);
  expect(await cancel(), 200);
  expect(await cancel(undefined, { "content-length": "0" }), 200);
  expect(await cancel(undefined, { "content-type": "text/plain" }), 200);
  expect(await cancel("{}"), 200);
  expect(await cancel('{"unknown":[1,{"a":null}]}'), 200);
  invalid(expect(await cancel("[]"), 400));
  invalid(expect(await cancel("{"), 400));
});

test("Unknown fields are ignored, whatever their names and values", async (t) => {
  const { call } = await world(t);
  const body =
    '{"name":"web","region":"eu","id":"proj_mine","status":"archived","__proto__":{"description":"x"},"constructor":1,"a\\u0000":"\\u0000\\ud800"}';
  const {
    meta: _,
    id,
    created_at: __,
    updated_at: ___,
    ...project
  } = expect(await call("owner", "POST", "/v1/projects", body), 201);
  assert.notEqual(id, "proj_mine");
  assert.deepEqual(project, { name: "web", region: "eu", description: null, status: "active" });
});

test("U+0000 and lone surrogates are 422 in every known field", async (t) => {
  const { call, project } = await world(t);
  const { id } = await project("existing");
  const deployment = { project_id: id, environment: "production", source: git };
  const image = { type: "image", image_url: "registry.test/web:1" };
  const bodies: [method: string, path: string, body: (bad: string) => object, field: string][] = [
    ["POST", "/v1/projects", (bad) => ({ ...order, name: `web${bad}` }), "name"],
    ["POST", "/v1/projects", (bad) => ({ ...order, region: `eu${bad}` }), "region"],
    ["POST", "/v1/projects", (bad) => ({ ...order, description: bad }), "description"],
    ["PUT", `/v1/projects/${id}`, (bad) => ({ name: `web${bad}` }), "name"],
    ["PUT", `/v1/projects/${id}`, (bad) => ({ region: `eu-west-1${bad}` }), "region"],
    ["PUT", `/v1/projects/${id}`, (bad) => ({ description: `x${bad}x` }), "description"],
    ["POST", "/v1/deployments", (bad) => ({ ...deployment, project_id: `${id}${bad}` }), "project_id"],
    ["POST", "/v1/deployments", (bad) => ({ ...deployment, environment: `production${bad}` }), "environment"],
    ["POST", "/v1/deployments", (bad) => ({ ...deployment, source: { ...git, type: `git${bad}` } }), "source.type"],
    ["POST", "/v1/deployments", (bad) => ({ ...deployment, source: { ...git, repo: `a/b${bad}` } }), "source.repo"],
    ["POST", "/v1/deployments", (bad) => ({ ...deployment, source: { ...git, branch: `a${bad}` } }), "source.branch"],
    ["POST", "/v1/deployments", (bad) => ({ ...deployment, source: { ...git, tag: `v1${bad}` } }), "source.tag"],
    [
      "POST",
      "/v1/deployments",
      (bad) => ({ ...deployment, source: { ...image, image_url: `a:1${bad}` } }),
      "source.image_url",
    ],
    ["POST", "/v1/users/invite", (bad) => ({ email: `a${bad}@acme.test`, role: "viewer" }), "email"],
    ["POST", "/v1/users/invite", (bad) => ({ email: "a@acme.test", role: `viewer${bad}` }), "role"],
    ["POST", "/v1/invitations/accept", (bad) => ({ token: `t${bad}`, name: "Ada" }), "token"],
    ["POST", "/v1/invitations/accept", (bad) => ({ token: "t", name: `Ada${bad}` }), "name"],
  ];
  for (const [method, path, body, field] of bodies) {
    for (const bad of ["\u0000", "\ud800", "\udc00x"]) {
      const { error } = expect(await call("owner", method, path, body(bad)), 422);
      assert.deepEqual(
        [...new Set(error.details.map((one: { path: string }) => one.path))],
        [field],
        `${method} ${path}`,
      );
    }
  }
});

test("U+0000 in a filter is 422, and a pair of surrogates is a character like any other", async (t) => {
  const { call } = await world(t);
  for (const name of ["project_id", "environment", "status", "cursor"]) {
    expect(await call("owner", "GET", `/v1/deployments?${name}=%00`), 422);
  }
  expect(await call("owner", "POST", "/v1/projects", { ...order, name: "\u{1f680}".repeat(64) }), 201);
  expect(await call("owner", "POST", "/v1/projects", { ...order, name: "\u{1f680}".repeat(65) }), 422);
});
