import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedDeployments } from "../../lib/index.ts";
import { callAs, member, temporary, withMembers } from "../helpers/members.ts";
import { expect, git, type Reply, type Who, type World, world } from "../helpers/test-service.ts";

const order = { name: "web", region: "eu-west-1" };
const many = { rateLimit: 1_000_000 };
const key = (name: string) => ({ "idempotency-key": name });

const create = ({ call }: World, name: string, body: unknown = order, who: Who = "owner") =>
  call(who, "POST", "/v1/projects", body, key(name));
const names = async ({ call }: World) =>
  expect(await call("owner", "GET", "/v1/projects"), 200).data.map(({ name }: { name: string }) => name);

const isReplay = ({ headers }: Reply) => headers.get("idempotent-replayed") === "true";

/** Asserts the same status, bytes and headers, except for the headers of the rate window. */
function sameAnswer(first: Reply, second: Reply) {
  assert.ok(!isReplay(first) && isReplay(second), "the second is marked as a replay, and it alone");
  assert.equal(second.status, first.status);
  assert.equal(second.text, first.text);
  const headers = (reply: Reply) =>
    [...reply.headers].filter(([name]) => name !== "idempotent-replayed" && !name.startsWith("x-ratelimit-"));
  assert.deepEqual(headers(second), headers(first));
}

test("The same key replays the first answer, byte for byte", async (t) => {
  const here = await world(t);
  const first = await create(here, "k");
  expect(first, 201);
  await here.service.clock.advance("5m");
  const second = await here.call("owner", "POST", "/v1/projects", order, { ...key("k"), "x-request-id": "another" });
  sameAnswer(first, second);
  assert.deepEqual(await names(here), ["web"]);
  assert.deepEqual(await here.events(), ["project.created"], "the work was done once");
  assert.equal(
    second.headers.get("x-ratelimit-remaining"),
    String(Number(first.headers.get("x-ratelimit-remaining")) - 1),
  );
});

test("A replay shows the first answer, not the current record", async (t) => {
  const here = await world(t);
  const first = await create(here, "k");
  expect(await here.call("owner", "DELETE", `/v1/projects/${first.body.id}`), 204);
  sameAnswer(first, await create(here, "k"));
  assert.deepEqual(await names(here), []);
});

test("Every POST replays: deployments, rollbacks, cancels, invitations, moves", async (t) => {
  const here = await world(t, many);
  const { call, project, deploy, service } = here;
  const { id } = await project();
  await deploy(id);
  await service.clock.advance("1m");
  const release = (await deploy(id)).id;
  await service.clock.advance("1m");
  const queued = (await deploy(id)).id;
  for (const [path, body] of [
    ["/v1/deployments", { project_id: id, environment: "staging", source: git }],
    [`/v1/deployments/${release}/rollback`],
    [`/v1/deployments/${queued}/cancel`],
    ["/v1/users/invite", { email: "new@acme.test", role: "viewer" }],
    [`/v1/projects/${id}/archive`],
    [`/v1/projects/${id}/unarchive`],
  ] as const) {
    const ask = () => call("owner", "POST", path, body, key("k"));
    const first = await ask();
    assert.ok(first.status === 200 || first.status === 201, `${path} ${first.text}`);
    const events = await here.events();
    sameAnswer(first, await ask());
    assert.deepEqual(await here.events(), events, path);
  }
});

test("Another body is 422 idempotency_mismatch, and bodies are compared as raw bytes", async (t) => {
  const here = await world(t);
  const raw = JSON.stringify(order);
  expect(await create(here, "k", raw), 201);
  for (const body of [{ ...order, name: "api" }, `${raw} `, '{"region":"eu-west-1","name":"web"}', "{", "[]", {}, ""]) {
    const reply = await create(here, "k", body);
    assert.equal(expect(reply, 422).error.code, "idempotency_mismatch", JSON.stringify(body));
    assert.ok(!isReplay(reply));
  }
  assert.ok(isReplay(await create(here, "k", raw)), "the first body is still good");
});

test("The role and the scope are asked before the key is looked up", async (t) => {
  const seed = withMembers(member("reader", "owner", { scopes: ["projects:read"] }));
  const here = await world(t, { seed });
  for (const body of [order, {}]) {
    const viewer = await create(here, "k", body, "viewer");
    assert.equal(expect(viewer, 403).error.code, "insufficient_role");
    const reader = await callAs(here, "reader", "POST", "/v1/projects", body, key("k"));
    assert.equal(expect(reader, 403).error.code, "insufficient_scope");
  }
});

test("The same key of another path, another API key or another method has nothing to do with it", async (t) => {
  const here = await world(t);
  const { call } = here;
  const { id } = expect(await create(here, "k"), 201);
  assert.equal(expect(await create(here, "k", order, "admin"), 409).error.code, "name_taken");
  expect(await call("owner", "POST", "/v1/users/invite", { email: "a@acme.test", role: "viewer" }, key("k")), 201);
  expect(await call("owner", "POST", `/v1/projects/${id}/archive`, undefined, key("k")), 200);
  expect(await create(here, "K", { ...order, name: "api" }), 201);
  for (const description of ["a", "b"]) {
    const reply = await call("owner", "PUT", `/v1/projects/${id}`, { description }, key("k"));
    assert.equal(expect(reply, 200).description, description, "only POST takes a key");
  }
  assert.deepEqual(await names(here), ["api", "web"]);
});

test("The path alone counts, not the query", async (t) => {
  const here = await world(t);
  const first = await create(here, "k");
  sameAnswer(first, await here.call("owner", "POST", "/v1/projects?x=1", order, key("k")));
});

test("409 and the 404 of an identifier are remembered", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const taken = await create(here, "k");
  assert.equal(expect(taken, 409).error.code, "name_taken");
  expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
  sameAnswer(taken, await create(here, "k"));
  expect(await create(here, "other"), 201);

  for (const [path, body] of [
    ["/v1/deployments", { project_id: "proj_unknown", environment: "production", source: git }],
    ["/v1/deployments/dep_unknown/cancel"],
  ] as const) {
    const ask = () => here.call("owner", "POST", path, body, key("lost"));
    const first = await ask();
    assert.equal(expect(first, 404).error.code, "not_found");
    sameAnswer(first, await ask());
  }
});

test("400, 403, 413, 415, 422 and 500 are not remembered", async (t) => {
  let broken = true;
  const simulated = simulatedDeployments();
  const driver = { ...simulated, delay: (work: never) => (broken ? assert.fail("broken") : simulated.delay(work)) };
  const here = await world(t, { deployments: { driver }, bodyLimit: 200 });
  const { call, project } = here;
  const again = async (status: number, first: () => Promise<Reply>) => {
    for (let i = 0; i < 2; i++) {
      const reply = await first();
      assert.equal(reply.status, status, reply.text);
      assert.ok(!isReplay(reply), `${status} is made anew`);
    }
  };
  await again(400, () => create(here, "k", "{"));
  await again(413, () => create(here, "k", { ...order, description: "x".repeat(200) }));
  await again(415, () => call("owner", "POST", "/v1/projects", order, { ...key("k"), "content-type": "text/plain" }));
  await again(422, () => create(here, "k", {}));
  expect(await create(here, "k"), 201);

  const promote = { email: "a@acme.test", role: "owner" };
  await again(403, () => call("admin", "POST", "/v1/users/invite", promote, key("k")));
  expect(await call("admin", "POST", "/v1/users/invite", { ...promote, role: "viewer" }, key("k")), 201);

  const body = { project_id: (await project("api")).id, environment: "production", source: git };
  await again(500, () => call("owner", "POST", "/v1/deployments", body, key("k")));
  broken = false;
  expect(await call("owner", "POST", "/v1/deployments", body, key("k")), 201);
});

test("A key is forgotten after 24 hours, and not before", async (t) => {
  const here = await world(t);
  const { service } = here;
  const first = await create(here, "k");
  await service.clock.advance("23h59m59s");
  await service.clock.advance("999ms");
  sameAnswer(first, await create(here, "k"));
  await service.clock.advance("1ms");
  const later = await create(here, "k");
  assert.equal(expect(later, 409).error.code, "name_taken", "the work is tried anew");
  sameAnswer(later, await create(here, "k"));
  await service.clock.advance("25h");
  expect(await create(here, "k", { ...order, name: "api" }), 201);
});

test("A key has 1 to 255 characters", async (t) => {
  const here = await world(t);
  for (const name of ["", "x".repeat(256), "x".repeat(5000)]) {
    const reply = await create(here, name);
    assert.equal(expect(reply, 422).error.code, "validation_failed", `${name.length} characters`);
  }
  assert.deepEqual(await names(here), []);
  for (const name of ["a", "x".repeat(255), 'with spaces, "quotes" and ; signs']) {
    const body = { ...order, name: `of ${name.length}` };
    const first = await create(here, name, body);
    expect(first, 201);
    sameAnswer(first, await create(here, name, body));
  }
});

test("Of 100 concurrent requests one does the work, and the others replay its answer", async (t) => {
  const here = await world(t, many);
  const replies = await Promise.all(Array.from({ length: 100 }, () => create(here, "k")));
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]));
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
  assert.equal(replies.filter(isReplay).length, 99);
  assert.deepEqual(await names(here), ["web"]);
  assert.deepEqual(await here.events(), ["project.created"]);
});

test("Of 100 concurrent requests with two bodies one body wins, and the other is a mismatch", async (t) => {
  const here = await world(t, many);
  const bodies = [order, { ...order, name: "api" }];
  const replies = await Promise.all(Array.from({ length: 100 }, (_, i) => create(here, "k", bodies[i % 2])));
  const statuses = replies.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 201).length, 50);
  assert.equal(statuses.filter((status) => status === 422).length, 50);
  assert.equal((await names(here)).length, 1);
});

test("A key outlives a restart", async (t) => {
  const database = temporary(t);
  const before = await world(t, { database });
  const first = await create(before, "k");
  const refused = await create(before, "k2");
  expect(refused, 409);
  await before.service.close();
  const after = await world(t, { database });
  sameAnswer(first, await create(after, "k"));
  sameAnswer(refused, await create(after, "k2"));
  assert.deepEqual(await names(after), ["web"]);
  await after.service.close();
});
