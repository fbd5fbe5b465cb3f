import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer } from "../helpers/headers.ts";
import { member, withMembers } from "../helpers/members.ts";
import { lines, listeningWorld } from "../helpers/raw-sockets.ts";
import { openStream } from "../helpers/stream-client.ts";
import { expect, world } from "../helpers/test-service.ts";

/** Decisions of this folder's README.md that no other file tests. */

const invitation = { email: "ada@example.com", role: "viewer" };
const order = { name: "web", region: "eu-west-1" };

test("an idempotency key without an API key is ignored: an invitation's token works once anyway", async (t) => {
  const here = await world(t);
  expect(await here.call("owner", "POST", "/v1/users/invite", invitation), 201);
  const [{ token }] = expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data;
  const body = { token, name: "Ada" };
  const accept = () => here.call("nobody", "POST", "/v1/invitations/accept", body, { "idempotency-key": "once" });
  expect(await accept(), 201);
  expect(await accept(), 404);
});

test("a body of GET, HEAD and DELETE is not read", async (t) => {
  const here = await listeningWorld(t);
  const { id } = await here.project();
  for (const [method, path, status] of [
    ["GET", "/v1/me", 200],
    ["HEAD", "/v1/me", 200],
    ["DELETE", `/v1/projects/${id}`, 204],
  ] as const) {
    const head = lines(
      ...[`${method} ${path} HTTP/1.1`, "Host: localhost", "Connection: close"],
      ...["Authorization: Bearer sk_live_demo_owner", "Content-Type: text/plain", "Content-Length: 8"],
    );
    assert.match(await here.raw(`${head}not json`), new RegExp(`^HTTP/1.1 ${status} `), method);
  }
});

test("a path outside /v1 is 404 without a key", async (t) => {
  const here = await world(t);
  for (const path of ["/", "/v2/projects", "/nothing"]) expect(await here.call("nobody", "GET", path), 404);
});

test("a list that gives everything has as many a page as it has items", async (t) => {
  const here = await world(t);
  assert.equal(expect(await here.call("viewer", "GET", "/v1/users"), 200).meta.per_page, 4);
});

test("* in ?events= of the stream is everything, state changes too", async (t) => {
  const here = await listeningWorld(t);
  const all = openStream(t, here, "?events=*");
  await all.begun;
  await here.deploy((await here.project()).id);
  await all.until(3);
  assert.deepEqual(all.messages.map(({ event }) => event).sort(), [
    "deployment.queued",
    "deployment.status",
    "project.created",
  ]);
});

test("expired invitations are listed for 30 days, and mails are kept for 7", async (t) => {
  const here = await world(t);
  expect(await here.call("owner", "POST", "/v1/users/invite", invitation), 201);
  const counts = async () => {
    const invitations = expect(await here.call("owner", "GET", "/v1/invitations"), 200).data.length;
    return [invitations, expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data.length];
  };
  await here.service.clock.advance("6d");
  assert.deepEqual(await counts(), [1, 1]);
  await here.service.clock.advance("3d");
  assert.deepEqual(await counts(), [1, 0]);
  await here.service.clock.advance("27d");
  assert.deepEqual(await counts(), [1, 0], "7 days until it expires, and 29 more");
  await here.service.clock.advance("3d");
  assert.deepEqual(await counts(), [0, 0]);
});

test("a mail's link leads to the page that accepts it; without a dashboard its text names the call alone", async (t) => {
  const here = await world(t);
  expect(await here.call("owner", "POST", "/v1/users/invite", invitation), 201);
  const [{ link, text }] = expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data;
  assert.equal((await here.service.fetch(link)).status, 200);
  assert.match(text, /Accept it here: \S+\/dashboard\/accept#/);
  assert.match(text, /Or with: curl -X POST \S+\/v1\/invitations\/accept /);
  const bare = await world(t, { dashboard: false });
  expect(await bare.call("owner", "POST", "/v1/users/invite", invitation), 201);
  const [mail] = expect(await bare.call("nobody", "GET", "/_svc/mail"), 200).data;
  assert.equal((await bare.service.fetch(mail.link)).status, 404);
  assert.match(mail.text, /\n\nAccept it with: curl -X POST /);
});

test("a push as a form is 415, and a push to an archived project makes nothing", async (t) => {
  const here = await world(t);
  const { id: project } = await here.project();
  const config = { repo: "acme/web", branch: "main", environment: "production" };
  const { id } = expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201);
  const push = { ref: "refs/heads/main", after: "a".repeat(40), repository: { full_name: "acme/web" } };
  const send = (body: object | string, type: string) =>
    here.call("nobody", "POST", `/hooks/code-host/${id}`, body, { "x-github-event": "push", "content-type": type });
  expect(await send(`payload=${JSON.stringify(push)}`, "application/x-www-form-urlencoded"), 415);
  expect(await here.call("owner", "POST", `/v1/projects/${project}/archive`), 200);
  assert.deepEqual(expect(await send(push, "application/json"), 202).data, []);
  assert.deepEqual(expect(await here.call("owner", "GET", "/v1/deployments"), 200).data, []);
});

test("a code host has no deliveries", async (t) => {
  const here = await world(t);
  const config = { repo: "acme/web", branch: "main", environment: "production" };
  const { id } = expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201);
  await here.project();
  assert.deepEqual(expect(await here.call("owner", "GET", `/v1/integrations/${id}/deliveries`), 200).data, []);
});

test("a rollback's new deployment may take a scenario", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const first = await here.deploy(id);
  await here.deploy(id);
  await here.service.clock.advance("1m");
  await here.service.scenarios.next("deployment", { result: "fail", at: "building" });
  const [newest] = expect(await here.call("owner", "GET", "/v1/deployments"), 200).data;
  assert.notEqual(newest.id, first.id);
  const made = expect(await here.call("owner", "POST", `/v1/deployments/${newest.id}/rollback`), 201);
  await here.service.clock.advance("1m");
  assert.equal(expect(await here.call("owner", "GET", `/v1/deployments/${made.id}`), 200).status, "failed");
});

test("only an owner reactivates an owner", async (t) => {
  const here = await world(t, { seed: withMembers(member("second", "owner")) });
  const { user } = expect(await here.call("nobody", "GET", "/v1/me", undefined, bearer("sk_live_second")), 200);
  const path = `/v1/users/${user.id}`;
  expect(await here.call("owner", "POST", `${path}/suspend`), 200);
  expect(await here.call("admin", "POST", `${path}/reactivate`), 403);
  expect(await here.call("owner", "POST", `${path}/reactivate`), 200);
});

test("a seed and the operator may give a user more than 100 API keys", async (t) => {
  const keys = Array.from({ length: 101 }, (_, i) => ({ key: `sk_live_many_${i}` }));
  const here = await world(t, { seed: withMembers({ ...member("many", "viewer"), keys }) });
  expect(await here.call("nobody", "GET", "/v1/me", undefined, bearer("sk_live_many_100")), 200);
  for (let i = 0; i < 101; i++) await here.service.keys.create({ organization: "acme", role: "admin" });
});

test("the option regions is judged after the other rules of the body", async (t) => {
  const here = await world(t, { regions: ["eu-west-1"] });
  const paths = async (body: object) =>
    expect(await here.call("owner", "POST", "/v1/projects", body), 422).error.details.map(
      ({ path }: { path: string }) => path,
    );
  assert.deepEqual(await paths({ ...order, name: "x", region: "us-east-1" }), ["name"]);
  assert.deepEqual(await paths({ ...order, region: "us-east-1" }), ["region"]);
});

test("Git refs have 1,000 bytes at most, image references 512 characters", async (t) => {
  const here = await world(t);
  const { id: project_id } = await here.project();
  const status = async (source: object) =>
    (await here.call("owner", "POST", "/v1/deployments", { project_id, environment: "production", source })).status;
  const branch = (bytes: number) => ({ type: "git", repo: "acme/web", branch: "ä".repeat(bytes / 2) });
  const image = (length: number) => ({ type: "image", image_url: `${"i/".repeat((length - 4) / 2)}aa:1` });
  assert.deepEqual([await status(branch(1_000)), await status(branch(1_002))], [201, 422]);
  assert.deepEqual([image(512).image_url.length, image(514).image_url.length], [512, 514]);
  assert.deepEqual([await status(image(512)), await status(image(514))], [201, 422]);
});
