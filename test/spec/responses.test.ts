import assert from "node:assert/strict";
import { test } from "node:test";
import { check, expect, git, keyOf, type Reply, start, type World, world } from "../helpers/test-service.ts";

const order = { name: "web", region: "eu-west-1" };
const own = { "x-request-id": "mine-1" };
const requestId = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;
const keys = (value: object) => Object.keys(value).sort();

test("The flat form", async (t) => {
  await check(t, {
    name: "puts the fields of an object beside meta",
    as: "viewer",
    given: (world) => world.project(),
    when: ["GET", ({ id }) => `/v1/projects/${id}`],
    then: 200,
    and: ({ meta, ...project }, _reply, _world, given) => {
      assert.deepEqual(keys(meta), ["request_id", "timestamp"]);
      assert.match(meta.request_id, requestId);
      assert.equal(meta.timestamp, start);
      const { meta: _, ...made } = given;
      assert.deepEqual(project, made);
    },
  });

  await check(t, {
    name: "is data and meta for a list, with per_page and next_cursor in the same meta",
    as: "viewer",
    given: (world) => world.project(),
    when: ["GET", "/v1/projects"],
    then: 200,
    and: (body) => {
      assert.deepEqual(keys(body), ["data", "meta"]);
      assert.deepEqual(keys(body.meta), ["next_cursor", "per_page", "request_id", "timestamp"]);
      assert.equal(body.meta.per_page, 20);
      assert.equal(body.meta.next_cursor, null);
      assert.equal(body.data.length, 1);
      assert.equal(body.data[0].meta, undefined, "items carry no meta of their own");
    },
  });

  await check(t, {
    name: "is error and meta for a problem",
    as: "viewer",
    when: ["GET", "/v1/projects/unknown"],
    then: [404, "not_found"],
    and: (body) => {
      assert.deepEqual(keys(body), ["error", "meta"]);
      assert.deepEqual(keys(body.error), ["code", "message"]);
      assert.deepEqual(keys(body.meta), ["request_id", "timestamp"]);
      assert.match(body.error.message, /\w+ \w+/);
    },
  });
});

test("The full envelope", async (t) => {
  const options = { envelope: "full" } as const;
  await check(t, {
    name: "wraps every object in data and meta",
    as: "owner",
    options,
    when: ["POST", "/v1/projects"],
    body: order,
    then: 201,
    events: ["project.created"],
    and: (body, { headers }) => {
      assert.deepEqual(keys(body), ["data", "meta"]);
      assert.deepEqual(keys(body.meta), ["request_id", "timestamp"]);
      assert.equal(body.data.name, "web");
      assert.equal(body.data.meta, undefined);
      assert.equal(headers.get("location"), `/v1/projects/${body.data.id}`);
    },
  });

  await check(t, {
    name: "wraps every list in data, meta and pagination",
    as: "owner",
    options,
    given: (world) => world.project(),
    when: ["GET", "/v1/projects?per_page=5"],
    then: 200,
    and: (body) => {
      assert.deepEqual(keys(body), ["data", "meta", "pagination"]);
      assert.deepEqual(keys(body.meta), ["request_id", "timestamp"]);
      assert.deepEqual(body.pagination, { total: 1, page: 1, per_page: 5, next_cursor: null });
    },
  });

  await check(t, {
    name: "leaves errors in their one shape",
    as: "nobody",
    options,
    when: ["GET", "/v1/projects"],
    then: [401, "unauthorized"],
    and: (body) => assert.deepEqual(keys(body), ["error", "meta"]),
  });
});

test("X-Request-Id", async (t) => {
  await t.test("is the caller's own where that has 1 to 128 of A-Z a-z 0-9 . _ -", async (t) => {
    const { call } = await world(t);
    for (const id of ["a", "Az09._-", "-", "x".repeat(128)]) {
      const reply = await call("viewer", "GET", "/v1/me", undefined, { "x-request-id": id });
      assert.equal(reply.headers.get("x-request-id"), id);
      assert.equal(reply.body.meta.request_id, id);
    }
  });

  await t.test("is a new one where the caller's is anything else", async (t) => {
    const { call } = await world(t);
    for (const id of ["", "x".repeat(129), "a b", "a/b", "a,b", "é", "a;b", "<b>"]) {
      const reply = await call("viewer", "GET", "/v1/me", undefined, { "x-request-id": id });
      assert.match(reply.headers.get("x-request-id") ?? "", requestId, `for ${JSON.stringify(id)}`);
    }
    const { call: without } = await world(t);
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await without("viewer", "GET", "/v1/me")).headers.get("x-request-id"));
    assert.equal(new Set(ids).size, 3, "every request has another one");
  });

  await t.test("is on answers of every kind, with a body or without", async (t) => {
    const { call, project } = await world(t);
    const { id } = await project();
    const replies: [Reply, number][] = [
      [await call("owner", "GET", "/v1/projects", undefined, own), 200],
      [await call("owner", "HEAD", "/v1/projects", undefined, own), 200],
      [await call("owner", "POST", "/v1/projects", { ...order, name: "api" }, own), 201],
      [await call("owner", "POST", "/v1/projects", "{", own), 400],
      [await call("nobody", "GET", "/v1/projects", undefined, own), 401],
      [await call("viewer", "POST", "/v1/projects", order, own), 403],
      [await call("owner", "GET", "/v1/nothing", undefined, own), 404],
      [await call("owner", "PATCH", "/v1/projects", undefined, own), 405],
      [await call("owner", "POST", "/v1/projects", order, own), 409],
      [await call("owner", "POST", "/v1/projects", {}, own), 422],
      [await call("owner", "DELETE", `/v1/projects/${id}`, undefined, own), 204],
    ];
    for (const [reply, status] of replies) {
      expect(reply, status);
      assert.equal(reply.headers.get("x-request-id"), "mine-1");
      if (reply.body) assert.equal(reply.headers.get("content-type"), "application/json");
    }
  });
});

/** A deployment that can be rolled back: an older one of its environment became active. */
async function released({ service, project, deploy }: World) {
  const { id } = await project();
  await deploy(id);
  await service.clock.advance("1m");
  const second = await deploy(id);
  await service.clock.advance("1m");
  return { project: id as string, deployment: second.id as string };
}

test("Success codes", async (t) => {
  await t.test("a POST that makes something answers 201, with Location where it can be read", async (t) => {
    const here = await world(t);
    const { call } = here;
    const { project, deployment } = await released(here);
    const invite = { email: "new@acme.test", role: "viewer" };
    const deploy = { project_id: project, environment: "staging", source: git };
    const made = [
      await call("owner", "POST", "/v1/projects", { ...order, name: "api" }),
      await call("owner", "POST", "/v1/deployments", deploy),
      await call("owner", "POST", `/v1/deployments/${deployment}/rollback`),
      await call("owner", "POST", "/v1/users/invite", invite),
    ];
    const mail = expect(await call("nobody", "GET", "/_svc/mail"), 200);
    for (const reply of made) {
      const { meta: _, ...record } = expect(reply, 201);
      const location = reply.headers.get("location") ?? "";
      const { meta: __, ...read } = expect(await call("owner", "GET", location), 200);
      assert.deepEqual(read, record, location);
    }
    const { token } = mail.data[0];
    const accepted = await call("nobody", "POST", "/v1/invitations/accept", { token, name: "Grace" });
    assert.equal(accepted.headers.get("location"), `/v1/users/${expect(accepted, 201).id}`);
  });

  await t.test("GET, PUT and the moves of a record answer 200, without Location", async (t) => {
    const { call, project, deploy } = await world(t);
    const { id } = await project();
    const deployment = await deploy(id);
    for (const [method, path, body] of [
      ["GET", `/v1/projects/${id}`],
      ["PUT", `/v1/projects/${id}`, { description: "x" }],
      ["POST", `/v1/deployments/${deployment.id}/cancel`],
      ["POST", `/v1/projects/${id}/archive`],
      ["POST", `/v1/projects/${id}/unarchive`],
    ] as const) {
      const reply = await call("owner", method, path, body);
      expect(reply, 200);
      assert.equal(reply.headers.get("location"), null);
    }
  });

  await check(t, {
    name: "DELETE answers 204 with no body at all",
    as: "admin",
    given: (world) => world.project(),
    when: ["DELETE", ({ id }) => `/v1/projects/${id}`],
    then: 204,
    events: ["project.deleted"],
    and: (body, { text, headers }) => {
      assert.equal(body, undefined);
      assert.equal(text, "");
      assert.equal(headers.get("content-type"), null);
    },
  });
});

test("HEAD works where GET does, with the same headers and no body", async (t) => {
  const { call, project } = await world(t);
  const { id } = await project();
  const volatile = ["x-ratelimit-remaining", "content-length"];
  const kept = (headers: Headers) => [...headers].filter(([name]) => !volatile.includes(name));
  for (const [who, path, status] of [
    ["viewer", "/v1/projects", 200],
    ["viewer", `/v1/projects/${id}`, 200],
    ["viewer", "/v1/me", 200],
    ["viewer", "/v1/projects/unknown", 404],
    ["viewer", "/v1/projects?per_page=0", 422],
    ["viewer", "/v1/deployments/unknown/cancel", 405],
    ["nobody", "/v1/projects", 401],
  ] as const) {
    const get = await call(who, "GET", path, undefined, own);
    const head = await call(who, "HEAD", path, undefined, own);
    expect(get, status);
    assert.equal(head.status, status);
    assert.equal(head.text, "");
    assert.equal(head.headers.get("content-length"), String(Buffer.byteLength(get.text)));
    assert.deepEqual(kept(head.headers), kept(get.headers), path);
  }
});

test("an answer never shows the key of its request", async (t) => {
  const { call } = await world(t);
  const wrong = { authorization: "Bearer sk_live_a_wrong_one" };
  const refused = await call("nobody", "GET", "/v1/projects", undefined, wrong);
  assert.doesNotMatch(refused.text, /wrong_one/);
  assert.ok(!(await call("viewer", "GET", "/v1/me")).text.includes(keyOf("viewer")));
});
