import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "../../lib/composition/operations.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { runSteps } from "../helpers/all-operations.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { connectPreviews, hook, pullRequest } from "../helpers/pull-requests.ts";
import { expect, keyOf, type World, world } from "../helpers/test-service.ts";

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly action: string;
  readonly target: string | null;
  readonly user_id: string | null;
  readonly key_id: string | null;
  readonly via: string;
  readonly address: string | null;
  readonly request_id: string | null;
}

const order = { name: "web", region: "eu-west-1" };
const entries = async ({ call }: World, query = "", who: "owner" | "admin" | "stranger" = "owner"): Promise<Entry[]> =>
  expect(await call(who, "GET", `/v1/audit-log${query}`), 200).data;
const actions = async (here: World, query = "") => (await entries(here, query)).map(({ action }) => action);

test("A change has one entry, which says who did what to what, and when", async (t) => {
  const here = await world(t);
  await here.service.clock.advance("1h");
  const made = await here.call("admin", "POST", "/v1/projects", order, { "x-request-id": "mine" });
  const { user, key } = expect(await here.call("admin", "GET", "/v1/me"), 200);
  const [entry, ...others] = await entries(here);
  assert.deepEqual(others, []);
  assert.match(entry?.id ?? "", /^aud_[0-9A-HJKMNP-TV-Z]{26}$/);
  assert.deepEqual(
    { ...entry, id: "" },
    {
      id: "",
      at: "2026-01-01T01:00:00.000Z",
      action: "projects.create",
      target: made.body.id,
      user_id: user.id,
      key_id: key.id,
      via: "api",
      address: null,
      request_id: entry?.request_id,
    },
  );
  assert.equal(made.headers.get("x-request-id"), "mine");
  assert.match(entry?.request_id ?? "", /^req_[0-9A-HJKMNP-TV-Z]{26}$/, "a caller cannot name another request");
  const next = await here.call("admin", "PUT", `/v1/projects/${made.body.id}`, { description: "x" });
  expect(next, 200);
  assert.equal((await entries(here))[0]?.request_id, next.headers.get("x-request-id"));
});

test("A refused change, a read and the two creates have none", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  await here.deploy(id);
  expect(await here.call("owner", "POST", "/v1/generations", { model: "image-standard", prompt: "a" }), 201);
  expect(await here.call("owner", "GET", "/v1/projects"), 200);
  expect(await here.call("viewer", "POST", "/v1/projects", order), 403);
  expect(await here.call("owner", "POST", "/v1/projects", order), 409);
  expect(await here.call("owner", "POST", "/v1/projects", {}), 422);
  expect(await here.call("owner", "DELETE", "/v1/projects/proj_none"), 404);
  await here.service.clock.advance("1h");
  assert.deepEqual(await actions(here), ["projects.create"]);
});

test("A replay of an idempotency key adds none, nor does a stored refusal", async (t) => {
  const here = await world(t);
  for (let i = 0; i < 3; i++)
    expect(await here.call("owner", "POST", "/v1/projects", order, { "idempotency-key": "k" }), 201);
  for (let i = 0; i < 2; i++)
    expect(await here.call("owner", "POST", "/v1/projects", order, { "idempotency-key": "l" }), 409);
  assert.deepEqual(await actions(here), ["projects.create"]);
});

test("Filters, pages, rights and organizations", async (t) => {
  const here = await world(t);
  const project = await here.project();
  for (const who of ["owner", "admin"] as const)
    expect(await here.call(who, "PUT", `/v1/projects/${project.id}`, { description: who }), 200);
  expect(await here.call("stranger", "POST", "/v1/projects", order), 201);
  assert.deepEqual(await actions(here), ["projects.update", "projects.update", "projects.create"]);
  const { user } = expect(await here.call("admin", "GET", "/v1/me"), 200);
  assert.deepEqual(await actions(here, `?user_id=${user.id}`), ["projects.update"]);
  assert.deepEqual(await actions(here, "?action=projects.create"), ["projects.create"]);
  assert.deepEqual(await actions(here, `?action=projects.create&user_id=${user.id}`), []);
  assert.deepEqual(await actions(here, "?action=nothing"), []);
  assert.equal((await entries(here, "", "stranger")).length, 1);
  assert.deepEqual(await entries(here, `?user_id=${user.id}`, "stranger"), []);
  for (const who of ["developer", "viewer"] as const) expect(await here.call(who, "GET", "/v1/audit-log"), 403);
  const first = expect(await here.call("admin", "GET", "/v1/audit-log?per_page=2"), 200);
  const cursor = encodeURIComponent(first.meta.next_cursor);
  const second = expect(await here.call("admin", "GET", `/v1/audit-log?per_page=2&cursor=${cursor}`), 200);
  assert.deepEqual([first.data.length, second.data.length, second.meta.next_cursor], [2, 1, null]);
  const wrong = expect(await here.call("owner", "GET", "/v1/audit-log?action="), 422);
  assert.deepEqual(pathsOf(wrong), ["action"]);
});

test("An accepted invitation is a change of its organization", async (t) => {
  const here = await world(t);
  expect(await here.call("owner", "POST", "/v1/users/invite", { email: "ada@acme.test", role: "viewer" }), 201);
  const accept = async (path: string, status: number) => {
    const { data } = expect(await here.call("nobody", "GET", "/_svc/mail"), 200);
    const { token } = data.at(-1);
    const { id } = expect(await here.call("nobody", "POST", path, { token, name: "Ada" }), status);
    const [entry, before] = await entries(here);
    assert.deepEqual(
      [entry?.action, entry?.target, entry?.user_id, entry?.key_id, entry?.via],
      ["invitations.accept", id, null, null, "api"],
    );
    assert.match(entry?.request_id ?? "", /^req_/);
    assert.equal(before?.action, "users.invite");
  };
  await accept("/v1/invitations/accept", 201);
  expect(await here.call("owner", "POST", "/v1/users/invite", { email: "bob@acme.test", role: "viewer" }), 201);
  await accept("/_svc/invitations/accept", 200);
  assert.ok(!JSON.stringify(await entries(here)).includes("ada@acme.test"));
});

test("A hook has an entry where it makes or removes the environment of a pull request, and no other", async (t) => {
  const here = await world(t);
  const { id: project_id } = await here.project();
  const id = await connectPreviews(here);
  const before = (await entries(here)).length;
  const head = { "x-request-id": "of-the-hook" };
  const made = await hook(here, id, pullRequest("opened"), head);
  assert.equal(expect(made, 202).data.length, 1);
  // The same events again, and one that changes nothing.
  await hook(here, id, pullRequest("opened"), head);
  await hook(here, id, pullRequest("labeled"), head);
  await hook(here, id, pullRequest("closed"), head);
  const [deleted, put, ...others] = (await entries(here)).slice(0, -before);
  assert.deepEqual(others, []);
  for (const [entry, action] of [
    [put, "environments.put"],
    [deleted, "environments.delete"],
  ] as const) {
    const { id: _, at: __, request_id, ...rest } = entry ?? assert.fail();
    assert.match(request_id ?? "", /^req_/, "the caller's own id is not used");
    const nobody = { user_id: null, key_id: null, address: null };
    assert.deepEqual(rest, { action, target: project_id, via: "hook", ...nobody });
  }
});

const leftOut = ["deployments.create", "generations.create"];
const changes = operations
  .map(({ id, method }) => (method === "GET" ? "" : id))
  .filter((id) => id && !leftOut.includes(id));

test("Every operation that changes something has exactly one entry a success, and none else", async (t) => {
  const here = await world(t, { rateLimit: 1_000_000 });
  const expected: string[] = [];
  const call: World["call"] = async (who, method, path, ...more) => {
    const reply = await here.call(who, method, path, ...more);
    const bare = path.split("?")[0]?.replace(/^\/v1/, "") ?? "";
    const operation = operations.find(
      (one) => one.method === method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(bare),
    );
    if (operation && method !== "GET" && reply.status < 300 && !leftOut.includes(operation.id))
      expected.push(operation.id);
    return reply;
  };
  await runSteps({ ...here, call }, createRandom("audit"), 0);
  const listed: Entry[] = [];
  for (let query = "?per_page=100"; query !== ""; ) {
    const { data, meta } = expect(await here.call("owner", "GET", `/v1/audit-log${query}`), 200);
    listed.push(...data);
    query = meta.next_cursor === null ? "" : `?per_page=100&cursor=${encodeURIComponent(meta.next_cursor)}`;
  }
  assert.deepEqual(listed.map(({ action }) => action).reverse(), expected);
  const untried = changes.filter((id) => !expected.includes(id));
  // These need a runtime: see test/runtime/deploy.test.ts and test/runtime/repositories.test.ts.
  assert.deepEqual(untried, ["environments.restart", "repositories.update", "repositories.delete"]);
});

test("Entries are deleted after the retention", async (t) => {
  const here = await world(t, { audit: { retention: "2d" } });
  await here.project("old");
  await here.service.clock.advance("36h");
  await here.project("new");
  await here.service.clock.advance("24h");
  assert.equal((await entries(here)).length, 1);
  const year = await world(t);
  await year.project();
  await year.service.clock.advance("364d");
  assert.equal((await entries(year)).length, 1);
  await year.service.clock.advance("2d");
  assert.equal((await entries(year)).length, 0);
});

test("No entry has a key, a secret or a body in it", async (t) => {
  const here = await world(t);
  const body = { url: "https://h.inbox.test/", events: ["*"], secret: "hush-hush" };
  expect(await here.call("owner", "POST", "/v1/webhooks", body), 201);
  const made = expect(await here.call("owner", "POST", "/v1/api-keys", { name: "ci" }), 201);
  const text = JSON.stringify(await entries(here));
  for (const secret of ["hush-hush", made.key, keyOf("owner"), "h.inbox.test"]) assert.ok(!text.includes(secret));
});
