import assert from "node:assert/strict";
import { test } from "node:test";
import { deploymentNow } from "../helpers/deployments.ts";
import { hasSnapshots, withSnapshots } from "../helpers/engine.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, start, type World, world } from "../helpers/test-service.ts";
import { startTextServer } from "../helpers/text-server.ts";

const subscribe = async (here: World, url: string) =>
  expect(await here.call("owner", "POST", "/v1/webhooks", { url, events: ["*"] }), 201);
const notFound = { code: "not_found" };

/** The state that a look ahead must not change: the next identifiers, the journal, the inbox, the clock. */
const stateOf = async (here: World) => [
  here.service.journal.list(),
  here.service.inbox.list(),
  here.service.clock.now(),
  await here.events(),
  (await here.project("next")).id,
];

test("a preview says what would happen, and changes and sends nothing", withSnapshots, async (t) => {
  const look = async (isAhead: boolean) => {
    const sunk: string[] = [];
    const sent: string[] = [];
    const transport = async (request: Request) => {
      sent.push(request.url);
      return new Response();
    };
    const here = await world(t, { transport });
    here.service.webhooks.sink("sunk", async (request) => {
      sunk.push(request.url);
      return new Response();
    });
    for (const url of ["https://sunk.inbox.test", "https://script.inbox.test", "https://shop.example.com/hooks"])
      await subscribe(here, url);
    here.service.inbox.script("script", [500, 500, 500]);
    const { id } = await here.deploy((await here.project()).id);
    await here.service.settle();
    sunk.length = 0;
    sent.length = 0;
    if (isAhead) {
      const ahead = await here.service.preview({ by: "2m" });
      assert.deepEqual([sunk, sent], [[], []]);
      assert.deepEqual([ahead.from, ahead.now], [start, "2026-01-01T00:02:00.000Z"]);
      assert.ok(ahead.ran > 3);
      const states = ahead.entries.flatMap((one) =>
        one.kind === "state" ? [`${one.status} ${one.at.slice(14, 19)}`] : [],
      );
      assert.deepEqual(states, ["building 00:01", "deploying 00:04", "active 00:06"]);
      const events = ahead.entries.flatMap((one) => (one.kind === "event" ? [one.event] : []));
      assert.deepEqual(events.at(-1), "deployment.succeeded");
      // The second try of a failed delivery follows the script. Deliveries to a function or a public address count as
      // received.
      const tries = ahead.entries.flatMap((one) => (one.kind === "try" ? [one.status] : []));
      assert.deepEqual([...new Set(tries)].sort(), [200, 500]);
    }
    assert.equal((await deploymentNow(here, id)).status, "queued");
    return stateOf(here);
  };
  assert.deepEqual(await look(true), await look(false));
});

test(
  "a preview looks ahead by a duration, to an instant, to the next due work, or to the end of all work",
  withSnapshots,
  async (t) => {
    const here = await world(t, { clock: "real" });
    const now = here.service.clock.now().getTime();
    const { id } = await here.deploy((await here.project()).id);
    const { entries } = await here.service.preview({ to: "idle" });
    assert.ok(entries.some((one) => one.kind === "state" && one.id === id && one.status === "active"));
    const to = new Date(now + 60_000).toISOString();
    assert.equal((await here.service.preview({ to })).now, to);
    assert.ok(Date.parse((await here.service.preview({ to: "next" })).now) >= now);
    for (const until of [{}, { by: "1m", to }, { by: "1x" }, { to: "later" }, { until: "1m" }] as object[])
      await assert.rejects(here.service.preview(until), { code: "validation_failed" });
  },
);

test("what is due next has its time, its kind and its record", async (t) => {
  const here = await world(t);
  assert.deepEqual(await here.service.clock.upcoming(), []);
  const hook = await subscribe(here, "https://hook.inbox.test");
  here.service.inbox.script("hook", [500]);
  const { id } = await here.deploy((await here.project()).id);
  await here.service.clock.advance("2s");
  const upcoming = await here.service.clock.upcoming();
  assert.deepEqual(
    upcoming.map(({ kind, id }) => [kind, id]),
    [
      ["deployments.advance", id],
      ["deliveries.pump", hook.id],
    ],
  );
  assert.equal(upcoming[0]?.at, "2026-01-01T00:00:04.000Z");
  assert.deepEqual(expect(await here.call("nobody", "GET", "/_svc/upcoming"), 200).data, upcoming);
  const next = expect(await here.call("nobody", "POST", "/_svc/clock/advance", { to: "next" }), 200);
  assert.equal(next.now, upcoming[0]?.at);
  expect(await here.call("nobody", "POST", "/_svc/clock/advance", { to: "idle" }), 200);
  assert.deepEqual(await here.service.clock.upcoming(), []);
});

test("snapshots have names, are listed and removed", withSnapshots, async (t) => {
  const here = await world(t);
  const { service } = here;
  const { id } = await service.snapshot({ name: "before" });
  await service.clock.advance("1h");
  const later = expect(await here.call("nobody", "POST", "/_svc/snapshots", { name: "later" }), 201);
  const plain = expect(await here.call("nobody", "POST", "/_svc/snapshots"), 201);
  const list = expect(await here.call("nobody", "GET", "/_svc/snapshots"), 200).data;
  assert.deepEqual(list, service.snapshots.list());
  assert.deepEqual(
    list.map(({ bytes, ...one }: { bytes: number }) => ({ ...one, isEmpty: bytes === 0 })),
    [
      { id, name: "before", now: start, isEmpty: false },
      { id: later.id, name: "later", now: later.now, isEmpty: false },
      { id: plain.id, name: null, now: later.now, isEmpty: false },
    ],
  );
  assert.equal(expect(await here.call("nobody", "DELETE", `/_svc/snapshots/${id}`), 200).data.length, 2);
  await assert.rejects(service.restore(id), notFound);
  assert.throws(() => service.snapshots.remove(id), notFound);
  assert.notEqual((await service.snapshot()).id, plain.id);
});

test("a comparison names what was added, changed and removed, and shows no secret", withSnapshots, async (t) => {
  const here = await world(t);
  const project = await here.project();
  const old = await here.project("old");
  const deployment = await here.deploy(project.id);
  const { id: from } = await here.service.snapshot();
  await here.service.clock.advance("1m");
  expect(await here.call("owner", "DELETE", `/v1/projects/${old.id}`), 204);
  const key = expect(await here.call("owner", "POST", "/v1/api-keys", { name: "new" }), 201);
  const { changes, counts, ...about } = await here.service.compare({ from });
  assert.deepEqual(about, { from: { id: from, now: start }, to: { id: null, now: "2026-01-01T00:01:00.000Z" } });
  const found = (type: string, id: string) => changes.find((one) => one.type === type && one.id === id);
  const { status, version } = found("deployment", deployment.id)?.fields ?? {};
  assert.deepEqual(status, { from: "queued", to: "active" });
  assert.equal(version?.from, null);
  assert.equal(found("project", old.id)?.change, "removed");
  assert.equal(found("api_key", key.id)?.change, "added");
  assert.deepEqual(found("api_key", key.id)?.fields["hash"], { from: "[secret]", to: "[secret]" });
  assert.deepEqual(counts["deployment"], { added: 0, changed: 1, removed: 0 });
  assert.equal(found("project", project.id), undefined);
  const { id: to } = await here.service.snapshot();
  const over = expect(await here.call("nobody", "GET", `/_svc/compare?from=${from}&to=${to}`), 200);
  assert.deepEqual([over.changes, over.counts], [changes, counts]);
  assert.deepEqual((await here.service.compare({ from: to })).changes, []);
  await assert.rejects(here.service.compare({ from: "snap_9" }), notFound);
});

test("a fork begins from a snapshot, and a muted one sends nothing", withSnapshots, async (t) => {
  const here = await world(t, { transport: async () => assert.fail("a muted fork sends") });
  await subscribe(here, "https://shop.example.com");
  const { id } = await here.service.snapshot();
  await here.project();
  const fork = await here.service.fork({ from: id, muted: true });
  t.after(() => fork.close());
  const client = fork.client({ apiKey: "sk_live_demo_owner" });
  assert.equal((await client.projects.list({})).data.length, 0);
  await client.projects.create({ name: "only here", region: "eu-west-1" });
  await fork.settle();
  assert.deepEqual(
    fork.journal.list({ kind: "try" }).map((one) => one.kind === "try" && one.status),
    [200],
  );
  // Its own forks are muted too.
  const next = await fork.fork();
  t.after(() => next.close());
  await next.client({ apiKey: "sk_live_demo_owner" }).projects.create({ name: "here too", region: "eu-west-1" });
  await next.settle();
  await assert.rejects(here.service.fork({ from: "snap_9" }), notFound);
});

test("a muted fork and a preview ask no name server: a domain stays pending", withSnapshots, async (t) => {
  const { address, names } = await startTextServer(t, new Map());
  const here = await world(t, { domains: { verify: true, servers: [address] } });
  const { id } = await here.project();
  const { environments } = here.service.client({ apiKey: "sk_live_demo_owner" });
  await environments.put({ id, name: "production", domains: ["www.example.com"] });
  await here.service.preview({ by: "1h" });
  const fork = await here.service.fork({ muted: true });
  t.after(() => fork.close());
  await fork.settle();
  assert.deepEqual(names, []);
  const { data } = await fork.client({ apiKey: "sk_live_demo_owner" }).environments.list({ id });
  const [domain] = data[0]?.domain_status ?? [];
  assert.equal(domain?.status, "pending");
  assert.match(domain?.reason ?? "", /could not be looked up: this fork is muted$/);
  await here.service.settle();
  assert.deepEqual(names, ["_svc.www.example.com"]);
});

test("the control interface makes forks on ports of their own", withSnapshots, async (t) => {
  const { send, service } = await listeningWorld(t);
  const json = { "content-type": "application/json" };
  const post = async (body: object) =>
    (await send("POST", "/_svc/forks", { headers: json, body: JSON.stringify(body) })).body;
  const { id: from } = await service.snapshot();
  await service.clock.advance("1h");
  const { meta: _, ...past } = await post({ from, muted: true });
  assert.deepEqual(past, { id: "fork_1", url: past.url, now: start, from, muted: true });
  assert.deepEqual((await send("GET", "/_svc/forks")).body.data, [past]);
  const answer = await fetch(`${past.url}/_svc/clock`);
  assert.equal(((await answer.json()) as { now: string }).now, start);
  assert.equal((await fetch(`${past.url}/dashboard`)).status, 200);
  // A restore of the service leaves its forks alone.
  await service.restore(from);
  assert.equal((await fetch(`${past.url}/_svc/clock`)).status, 200);
  const forks = await Promise.all(Array.from({ length: 10 }, () => post({})));
  assert.deepEqual(
    forks.filter(({ error }) => error).map(({ error }) => error.code),
    ["limit_reached"],
  );
  assert.deepEqual((await send("DELETE", "/_svc/forks/fork_1")).body.data.length, 9);
  await assert.rejects(fetch(`${past.url}/_svc/clock`));
  assert.equal((await send("DELETE", "/_svc/forks/fork_1")).status, 404);
});

test("one scenario and one fault are removed, and inboxes show what they answer next", async (t) => {
  const here = await world(t);
  const { service } = here;
  const { id } = await service.scenarios.add({ match: { branch: "a" }, outcome: { result: "fail" } });
  await service.scenarios.add({ match: { branch: "b" }, outcome: { result: "fail" } });
  assert.equal(expect(await here.call("nobody", "DELETE", `/_svc/scenarios/${id}`), 200).data.length, 1);
  await assert.rejects(service.scenarios.remove(id), notFound);
  const fault = service.faults.add({ match: { path: "/v1/me" }, respond: { status: 503 } });
  const from = hasSnapshots ? await service.snapshot() : undefined;
  assert.deepEqual(expect(await here.call("nobody", "DELETE", `/_svc/faults/${fault.id}`), 200).data, []);
  assert.throws(() => service.faults.remove(fault.id), notFound);
  if (from) {
    await service.restore(from.id);
    assert.notEqual(service.faults.add({ respond: { status: 500 } }).id, fault.id);
    assert.equal(service.faults.list().length, 2);
  }
  assert.deepEqual(service.inbox.settings(), []);
  service.inbox.script("b", [500, { drop: true }]);
  service.webhooks.forward("a", "http://localhost:3000/hooks");
  service.webhooks.sink("c", async () => new Response());
  const settings = [
    { endpoint: "a", responses: [], forward: "http://localhost:3000/hooks", has_sink: false },
    { endpoint: "b", responses: [500, { drop: true }], forward: null, has_sink: false },
    { endpoint: "c", responses: [], forward: null, has_sink: true },
  ];
  assert.deepEqual(service.inbox.settings(), settings);
  assert.deepEqual(expect(await here.call("nobody", "GET", "/_svc/inboxes"), 200).data, settings);
});
