import assert from "node:assert/strict";
import { test } from "node:test";
import type { JournalEntry } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { bearer } from "../helpers/headers.ts";
import { expect, keyOf, start, type World, world } from "../helpers/test-service.ts";

const path = "/_svc/journal";
const journal = async (here: World, query = ""): Promise<JournalEntry[]> =>
  expect(await here.call("nobody", "GET", `${path}${query}`), 200).data;

const headers = bearer(keyOf("owner"));

/** One word per entry: its subject and its result. */
const word = (entry: JournalEntry) => {
  if (entry.kind === "request") return `${entry.method} ${entry.path} ${entry.status}`;
  if (entry.kind === "state") return `${entry.of} ${entry.status}`;
  return entry.kind === "event" ? entry.event : `try ${entry.number} ${entry.status ?? entry.error}`;
};

/** A webhook that fails once, a project, and a deployment that becomes active. */
async function story(here: World) {
  here.service.inbox.script("hook", [{ timeout: true }]);
  const webhook = { url: "https://hook.inbox.test", events: ["deployment.succeeded"], secret: "whsec_demo" };
  expect(await here.call("owner", "POST", "/v1/webhooks", webhook), 201);
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  await here.service.clock.advance("1m");
  return deployment;
}

test("requests, states, events and tries are on one axis", async (t) => {
  const here = await world(t);
  const deployment = await story(here);
  expect(await here.call("nobody", "GET", "/v1/me?token=secret"), 401);
  const entries = await journal(here);
  assert.deepEqual(entries.map(word), [
    "POST /v1/webhooks 201",
    "project.created",
    "POST /v1/projects 201",
    "deployment queued",
    "deployment.queued",
    "POST /v1/deployments 201",
    "deployment building",
    "deployment.started",
    "deployment deploying",
    "deployment active",
    "deployment.succeeded",
    "try 1 timeout after 10 s",
    "try 2 200",
    "GET /v1/me 401",
  ]);
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    entries.map((_, i) => i + 1),
  );
  const [, , , , , posted, , , , active] = entries;
  assert.ok(posted?.kind === "request" && active?.kind === "state");
  const { key_id, request_id, ...rest } = posted;
  assert.match(`${key_id} ${request_id}`, /^key_\w{26} req_\w{26}$/);
  const request = { method: "POST", path: "/v1/deployments", status: 201, duration_ms: 0 };
  assert.deepEqual(rest, { seq: 6, at: start, kind: "request", ...request });
  assert.deepEqual([active.at, active.id], ["2026-01-01T00:00:06.000Z", deployment.id]);
  assert.deepEqual(here.service.journal.list(), entries);
  const text = JSON.stringify(entries);
  for (const secret of [keyOf("owner"), "whsec_demo", "token=secret"]) assert.ok(!text.includes(secret));
});

test("what was undone is not in it", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  expect(await here.call("owner", "POST", `/v1/deployments`, { project_id: id, environment: "p" }), 422);
  assert.deepEqual((await journal(here)).map(word), [
    "project.created",
    "POST /v1/projects 201",
    "POST /v1/deployments 422",
  ]);
});

test("a request that was never answered has no status", async (t) => {
  const here = await world(t);
  const { faults, client } = here.service;
  faults.add({ match: { method: "POST" }, respond: { drop: true } });
  faults.add({ match: { path: "/v1/projects" }, respond: { delay: "60s" }, times: 2 });
  faults.add({ match: { path: "/v1/me" }, respond: { truncate: true } });
  const { url } = await here.service.listen();
  const body = JSON.stringify({ name: "web", region: "eu" });
  for (const ask of [here.service.fetch, (path: string, init: RequestInit) => fetch(url + path, init)])
    await assert.rejects(ask("/v1/projects", { method: "POST", body }), { name: "TypeError" });
  await assert.rejects(client().projects.create({ name: "web", region: "eu" }), { code: "unreachable" });
  const control = new AbortController();
  const gone = [
    here.service.fetch("/v1/projects", { signal: control.signal }),
    client().projects.list({}, { signal: control.signal }),
  ];
  control.abort(new Error("too slow"));
  for (const one of gone) await assert.rejects(one, { message: "too slow" });
  await assert.rejects((await here.service.fetch("/v1/me", { headers })).text());
  const [post, list] = ["POST /v1/projects null", "GET /v1/projects null"];
  assert.deepEqual((await journal(here)).map(word), [post, post, post, list, list, "GET /v1/me 200"]);
});

test("of one kind, and since an entry or an instant", async (t) => {
  const here = await world(t);
  await story(here);
  const words = async (query: string) => (await journal(here, query)).map(word);
  assert.deepEqual(await words("?kind=try"), ["try 1 timeout after 10 s", "try 2 200"]);
  assert.deepEqual(await words("?kind=state&since=4"), [
    "deployment building",
    "deployment deploying",
    "deployment active",
  ]);
  assert.deepEqual(await words("?since=2026-01-01T00:00:06Z&kind=event"), ["deployment.succeeded"]);
  assert.deepEqual(here.service.journal.list({ kind: "try", since: 12 }).map(word), ["try 2 200"]);
});

test("the last 1,000 of each kind are kept", async (t) => {
  const here = await world(t, { rateLimit: 5000, addressRateLimit: 5000 });
  await here.project();
  for (let i = 0; i < 2100; i++) await here.service.fetch("/v1/me");
  const entries = here.service.journal.list();
  assert.deepEqual([entries.length, entries[0]?.kind, entries.at(-1)?.seq], [1001, "event", 2102]);
});

test("a wrong query is 422 with its place", async (t) => {
  const here = await world(t);
  for (const [query, place] of [
    ["?since=yesterday", "since"],
    ["?since=-1", "since"],
    ["?since=1000", "since"],
    ["?since=1&since=2", "since"],
    ["?kind=mail", "kind"],
    ["?kind=", "kind"],
    ["?knd=try", "knd"],
  ]) {
    assert.deepEqual(pathsOf(expect(await here.call("nobody", "GET", `${path}${query}`), 422)), [place]);
  }
  const rule = "since must be the seq of an entry, or an instant such as 2026-01-01T00:00:00Z";
  for (const since of ["yesterday", "", "-1", "1.5", "2026-02-30T00:00:00Z", "9".repeat(16)])
    assert.equal(expect(await here.call("nobody", "GET", `${path}?since=${since}`), 422).error.message, rule);
  assert.throws(() => here.service.journal.list({ since: -1 }), { code: "validation_failed" });
});

test("the mode start keeps none", async (t) => {
  const here = await world(t, { mode: "start", clock: "real", random: undefined });
  assert.throws(() => here.service.journal, /mode dev/);
  expect(await here.call("nobody", "GET", path), 404);
});
