import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedDeployments } from "../../lib/index.ts";
import { bearer } from "../helpers/headers.ts";
import { member, withMembers } from "../helpers/members.ts";
import { check, expect, git, type Scenario, type Who, type World, world } from "../helpers/test-service.ts";

const order = { name: "web", region: "eu-west-1" };

type Row = Pick<Scenario<string>, "given" | "when" | "body" | "headers" | "options" | "then"> & {
  readonly what: string;
  readonly as?: Who;
};

const ids = async (world: World, who: Who = "owner"): Promise<Record<string, string>> => {
  const { data } = expect(await world.call(who, "GET", "/v1/users"), 200);
  return Object.fromEntries(data.map(({ name, id }: { name: string; id: string }) => [name, id]));
};
const active = async ({ service, project, deploy }: World) => {
  const { id } = await deploy((await project()).id);
  await service.clock.advance("1m");
  return id as string;
};
const invite = (email: string) => (world: World) =>
  world.call("owner", "POST", "/v1/users/invite", { email, role: "viewer" }).then(({ body }) => body.id);
const reader = { seed: withMembers(member("reader", "owner", { scopes: ["projects:read"] })) };

/** Each row of the error table that a single request can reach. */
const table: readonly Row[] = [
  { what: "the body is missing", when: ["POST", "/v1/projects"], then: [400, "invalid_json"] },
  { what: "the key is missing", as: "nobody", when: ["GET", "/v1/projects"], then: [401, "unauthorized"] },
  {
    what: "the path is unknown and the key missing",
    as: "nobody",
    when: ["GET", "/v1/x"],
    then: [401, "unauthorized"],
  },
  {
    what: "the role does not allow it",
    as: "viewer",
    when: ["POST", "/v1/projects"],
    body: order,
    then: [403, "insufficient_role"],
  },
  {
    what: "an owner rule forbids it",
    as: "admin",
    when: ["POST", "/v1/users/invite"],
    body: { email: "x@acme.test", role: "owner" },
    then: [403, "insufficient_role"],
  },
  {
    what: "the key lacks the scope",
    as: "nobody",
    options: reader,
    headers: bearer("sk_live_reader"),
    when: ["POST", "/v1/projects"],
    body: order,
    then: [403, "insufficient_scope"],
  },
  { what: "the path is unknown", when: ["GET", "/v1/nothing"], then: [404, "not_found"] },
  { what: "the identifier is unknown", when: ["GET", "/v1/projects/proj_1"], then: [404, "not_found"] },
  {
    what: "a deployment names an unknown project",
    when: ["POST", "/v1/deployments"],
    body: { project_id: "proj_1", environment: "production", source: git },
    then: [404, "not_found"],
  },
  {
    what: "a deployment names a project of another organization",
    as: "stranger",
    given: async (world) => (await world.project()).id,
    when: ["POST", "/v1/deployments"],
    body: (project_id: string) => ({ project_id, environment: "production", source: git }),
    then: [404, "not_found"],
  },
  { what: "the path has no such method", when: ["PATCH", "/v1/projects"], then: [405, "method_not_allowed"] },
  {
    what: "the name is taken",
    given: async (world) => (await world.project()).id,
    when: ["POST", "/v1/projects"],
    body: order,
    then: [409, "name_taken"],
  },
  {
    what: "the project is archived",
    async given({ call, project }) {
      const { id } = await project();
      expect(await call("owner", "POST", `/v1/projects/${id}/archive`), 200);
      return id;
    },
    when: ["POST", "/v1/deployments"],
    body: (project_id: string) => ({ project_id, environment: "production", source: git }),
    then: [409, "project_archived"],
  },
  {
    what: "the deployment is beyond cancelling",
    given: active,
    when: ["POST", (id) => `/v1/deployments/${id}/cancel`],
    then: [409, "not_cancellable"],
  },
  {
    what: "nothing was active before",
    given: active,
    when: ["POST", (id) => `/v1/deployments/${id}/rollback`],
    then: [409, "no_previous_version"],
  },
  {
    what: "the last owner would be lost",
    given: async (world) => (await ids(world)).owner ?? "",
    when: ["DELETE", (id) => `/v1/users/${id}`],
    then: [409, "last_owner"],
  },
  {
    what: "the address is a member's, in whatever case",
    when: ["POST", "/v1/users/invite"],
    body: { email: "VIEWER@ACME.test", role: "viewer" },
    then: [409, "already_member"],
  },
  {
    what: "the address is invited already",
    given: invite("new@acme.test"),
    when: ["POST", "/v1/users/invite"],
    body: { email: "New@Acme.test", role: "viewer" },
    then: [409, "invitation_pending"],
  },
  {
    what: "the body is over the limit",
    options: { bodyLimit: 40 },
    when: ["POST", "/v1/projects"],
    body: { ...order, more: "xxxxxxxxxx" },
    then: [413, "body_too_large"],
  },
  {
    what: "the body is of another type",
    headers: { "content-type": "text/plain" },
    when: ["POST", "/v1/projects"],
    body: order,
    then: [415, "unsupported_media_type"],
  },
  { what: "the body breaks a rule", when: ["POST", "/v1/projects"], body: {}, then: [422, "validation_failed"] },
  { what: "the query breaks a rule", when: ["GET", "/v1/projects?per_page=0"], then: [422, "validation_failed"] },
  { what: "the cursor is malformed", when: ["GET", "/v1/projects?cursor=x"], then: [422, "validation_failed"] },
  {
    what: "the idempotency key comes with another body",
    given: async ({ call }) => (await call("owner", "POST", "/v1/projects", order, { "idempotency-key": "k" })).text,
    headers: { "idempotency-key": "k" },
    when: ["POST", "/v1/projects"],
    body: { ...order, name: "api" },
    then: [422, "idempotency_mismatch"],
  },
];

test("The table of errors", async (t) => {
  for (const { what, as = "owner", ...row } of table) {
    await check(t, { name: `${(row.then as [number, string]).join(" ")}: ${what}`, as, ...row });
  }
});

test("Headers of errors", async (t) => {
  const { call } = await world(t, { addressRateLimit: 1 });
  const nobody = await call("nobody", "GET", "/v1/projects");
  assert.equal(nobody.headers.get("www-authenticate"), "Bearer");
  const limited = await call("nobody", "GET", "/v1/projects");
  assert.equal(expect(limited, 429).error.code, "rate_limited");
  assert.match(limited.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  const allow = async (path: string) =>
    (await call("viewer", "PATCH", path)).headers.get("allow")?.split(", ").sort().join(" ");
  assert.equal(await allow("/v1/projects"), "GET HEAD POST");
  assert.equal(await allow("/v1/projects/proj_1"), "DELETE GET HEAD PUT");
  assert.equal(await allow("/v1/users/invite"), "POST");
});

test("Details of a 422 list every broken rule, with dotted paths", async (t) => {
  const { call } = await world(t);
  const paths = async (path: string, body?: unknown, method = "POST") => {
    const { error } = expect(await call("owner", method, path, body), 422);
    for (const { message } of error.details) assert.match(message, /^(must|is) /);
    return error.details.map(({ path }: { path: string }) => path).sort();
  };
  const source = { type: "git", repo: "https://host/acme/web", branch: "-x", tag: "a..b" };
  assert.deepEqual(await paths("/v1/projects", {}), ["name", "region"]);
  assert.deepEqual(await paths("/v1/projects", { name: 1, region: "", description: [] }), [
    "description",
    "name",
    "region",
  ]);
  assert.deepEqual(await paths("/v1/deployments", {}), ["environment", "project_id", "source"]);
  assert.deepEqual(await paths("/v1/deployments", { project_id: "p", environment: "a b", source }), [
    "environment",
    "source.branch",
    "source.repo",
    "source.tag",
  ]);
  assert.deepEqual(await paths("/v1/users/invite", { email: "nobody", role: "king" }), ["email", "role"]);
  assert.deepEqual(await paths("/v1/deployments?status=done&per_page=101", undefined, "GET"), ["per_page", "status"]);
});

test("422 lists a thousand broken rules, and says where there are more", async (t) => {
  const { call } = await world(t);
  const create = async (wrong: number) => {
    const body = { url: "https://hook.inbox.test/", events: Array.from({ length: wrong }, () => "no event") };
    return expect(await call("owner", "POST", "/v1/webhooks", body), 422).error;
  };
  const [few, many] = [await create(1_000), await create(1_001)];
  assert.deepEqual([few.details.length, many.details.length], [1_000, 1_000]);
  assert.match(few.message, / \(and 999 more errors\)$/);
  assert.match(many.message, / \(and 1000 more errors; details lists the first 1000\)$/);
});

test("500 is logged with its request id, and the message says nothing more", async (t) => {
  const logged: unknown[] = [];
  const log = (...all: unknown[]) => void logged.push(all);
  const driver = { ...simulatedDeployments(), delay: () => assert.fail("the inner secret") };
  const logger = { error: log, warn: log, info: log, debug: log };
  const { call, project } = await world(t, { deployments: { driver }, logger });
  const body = { project_id: (await project()).id, environment: "production", source: git };
  const reply = await call("owner", "POST", "/v1/deployments", body);
  const { error, meta } = expect(reply, 500);
  assert.equal(error.code, "internal_error");
  assert.doesNotMatch(reply.text, /secret|assert|\.ts/i);
  const entry = JSON.stringify(logged.find((line) => JSON.stringify(line).includes("inner secret")));
  assert.ok(entry.includes(meta.request_id), "the log has it under the request id");
});

test("503 while shutting down, with Retry-After and, as on every response, the rate limit", async (t) => {
  const { service, call } = await world(t);
  const closed = service.close();
  const reply = await call("viewer", "GET", "/v1/projects");
  await closed;
  assert.equal(expect(reply, 503).error.code, "unavailable");
  assert.match(reply.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
});
