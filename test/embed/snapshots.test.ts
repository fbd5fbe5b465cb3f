import assert from "node:assert/strict";
import { test } from "node:test";
import { createService, Problem } from "../../lib/index.ts";
import { deploymentNow } from "../helpers/deployments.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { small } from "../helpers/painter.ts";
import { expect, forked, type World, world } from "../helpers/test-service.ts";

const hook = "https://hook.inbox.test/";
const subscribe = async (here: World, more: object = {}) =>
  expect(await here.call("owner", "POST", "/v1/webhooks", { url: hook, events: ["*"], ...more }), 201);
const projects = async (here: World): Promise<string[]> =>
  expect(await here.call("owner", "GET", "/v1/projects"), 200).data.map(({ name }: { name: string }) => name);
const unknown = (error: unknown) => error instanceof Problem && error.code === "not_found";

test("a fork has the options of its service, and takes no others", async (t) => {
  const { service } = await world(t);
  const fork = service.fork as (options: object) => Promise<unknown>;
  await assert.rejects(fork({ clock: "real" }), {
    code: "validation_failed",
    message: /clock is an unknown field; the fields are from, muted/,
  });
});

test("a fork is an independent copy", withSnapshots, async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const { id: deployment } = await here.deploy(id);
  const fork = await forked(t, here);
  await t.test("with the same rows and the same pending work, under a clock of its own", async () => {
    assert.deepEqual(await projects(fork), ["web"]);
    await fork.service.clock.advance("1h");
    assert.equal((await deploymentNow(fork, deployment)).status, "active");
    assert.equal((await deploymentNow(here, deployment)).status, "queued");
    assert.notEqual(fork.service.clock.now().getTime(), here.service.clock.now().getTime());
  });
  await t.test("records made in one are not in the other", async () => {
    await here.project("of-the-parent");
    await fork.project("of-the-fork");
    assert.deepEqual(await projects(here), ["of-the-parent", "web"]);
    assert.deepEqual(await projects(fork), ["of-the-fork", "web"]);
  });
  await t.test("a fork of a fork, too", async (t) => {
    const next = await forked(t, fork);
    await next.project("of-the-next");
    assert.deepEqual(await projects(next), ["of-the-next", "of-the-fork", "web"]);
    assert.deepEqual(await projects(fork), ["of-the-fork", "web"]);
  });
  await t.test("closing one leaves the other open", async (t) => {
    const next = await forked(t, here);
    const last = await forked(t, next);
    await next.service.close();
    assert.deepEqual(await projects(last), ["of-the-parent", "web"]);
    assert.deepEqual(await projects(here), ["of-the-parent", "web"]);
    await assert.rejects(next.service.fork(), /the service is closed/);
  });
});

test("a fork does not listen on the ports of its parent", withSnapshots, async (t) => {
  const here = await world(t);
  await here.service.listen();
  const fork = await forked(t, here);
  assert.equal(fork.service.url, undefined);
  const { url } = await fork.service.listen();
  assert.notEqual(url, here.service.url);
  assert.equal((await fetch(`${url}/_svc/clock`)).status, 200);
});

test("a fork has the sinks of its parent, and those that come later are its own", withSnapshots, async (t) => {
  const here = await world(t);
  await subscribe(here, { secret: "hush" });
  const got: string[] = [];
  const sink = (name: string) => async (request: Request) => {
    got.push(`${name} ${request.headers.get("x-service-signature") === null ? "unsigned" : "signed"}`);
    return new Response();
  };
  here.service.webhooks.sink("hook", sink("parent"));
  const fork = await forked(t, here);
  await fork.project();
  await fork.service.settle();
  assert.deepEqual(got, ["parent signed"]);
  fork.service.webhooks.sink("hook", sink("fork"));
  await fork.project("again");
  await fork.service.settle();
  await here.project();
  await here.service.settle();
  assert.deepEqual(got, ["parent signed", "fork signed", "parent signed"]);
  assert.deepEqual([fork.service.inbox.list().length, here.service.inbox.list().length], [2, 1]);
});

test(
  "a snapshot brings back rows, clock, pending work, identifiers, chance, windows and answers to repeat",
  withSnapshots,
  async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const { id: deployment } = await here.deploy(id);
    const kept = await here.service.snapshot();
    const again = async () => {
      const key = { "idempotency-key": "one" };
      const made = await here.call("owner", "POST", "/v1/projects", { name: "later", region: "eu-west-1" }, key);
      const moved = await here.service.clock.advance("5s");
      const now = await here.call("owner", "GET", `/v1/deployments/${deployment}`);
      return [made, now].map(({ text, headers }) => [text, [...headers]]).concat([[JSON.stringify(moved)]]);
    };
    const first = await again();
    await here.service.clock.advance("24h");
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(await here.service.restore(kept.id), kept);
      assert.equal(here.service.clock.now().toISOString(), kept.now);
      assert.deepEqual(await projects(await forked(t, here)), ["web"]);
      assert.deepEqual(await again(), first);
    }
  },
);

test("a fork has the files of its parent, and paints unfinished files itself", withSnapshots, async (t) => {
  const here = await world(t);
  const paint = async () => expect(await here.call("owner", "POST", "/v1/generations", small), 201);
  const file = async (of: World, { id }: { id: string }) => {
    const { output } = expect(await of.call("owner", "GET", `/v1/generations/${id}`), 200);
    const answer = await of.service.fetch(output.url);
    assert.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer());
  };
  const done = await paint();
  await here.service.clock.advance("1m");
  const underWay = await paint();
  const kept = await here.service.snapshot();
  const fork = await forked(t, here);
  await fork.service.clock.advance("1m");
  assert.deepEqual(await file(fork, done), await file(here, done));
  await here.service.clock.advance("1m");
  const painted = await file(here, underWay);
  assert.deepEqual(await file(fork, underWay), painted);
  await here.service.restore(kept.id);
  await here.service.clock.advance("1m");
  assert.deepEqual(await file(here, underWay), painted);
});

test("a snapshot is named by its id or its name, and the newest of a name counts", withSnapshots, async (t) => {
  const here = await world(t);
  await here.service.snapshot({ name: "before" });
  await here.project();
  const kept = await here.service.snapshot({ name: "before" });
  await here.project("other");
  assert.deepEqual(await here.service.restore("before"), kept);
  assert.deepEqual(await projects(here), ["web"]);
  here.service.snapshots.remove("before");
  await here.service.restore("before");
  assert.deepEqual(await projects(here), []);
  here.service.snapshots.remove("before");
  await assert.rejects(here.service.restore("before"), unknown);
});

test("an unknown snapshot is not found, and nothing changes", withSnapshots, async (t) => {
  const here = await world(t);
  await here.project();
  for (const id of ["snap_1", "", "__proto__", "the start"]) await assert.rejects(here.service.restore(id), unknown);
  const reply = await here.call("nobody", "POST", "/_svc/snapshots/snap_1/restore");
  assert.equal(expect(reply, 404).error.code, "not_found");
  assert.deepEqual(await projects(here), ["web"]);
});

test(
  "reset goes back to just after the seed: the same keys, and the same identifiers again",
  withSnapshots,
  async (t) => {
    const here = await world(t);
    const first = await here.project();
    await here.service.clock.advance("3h");
    assert.deepEqual(await here.service.reset(), { now: "2026-01-01T00:00:00.000Z" });
    assert.equal((await here.project()).id, first.id);
    await t.test("in a fork too", async (t) => {
      const fork = await forked(t, here);
      await fork.service.reset();
      assert.deepEqual([await projects(fork), await projects(here)], [[], ["web"]]);
    });
  },
);

test("over the control interface", withSnapshots, async (t) => {
  const here = await world(t);
  const kept = expect(await here.call("nobody", "POST", "/_svc/snapshots"), 201);
  assert.equal(typeof kept.id, "string");
  await here.project();
  await here.service.clock.advance("3h");
  const restored = await here.call("nobody", "POST", `/_svc/snapshots/${kept.id}/restore`);
  assert.deepEqual([expect(restored, 200).now, restored.body.meta.timestamp], [kept.now, kept.now]);
  assert.deepEqual(await projects(here), []);
  await here.project();
  await here.service.clock.advance("3h");
  const reset = expect(await here.call("nobody", "POST", "/_svc/reset"), 200);
  assert.deepEqual([reset.now, reset.meta.timestamp], [kept.now, kept.now]);
  assert.deepEqual(await projects(here), []);
});

test("concurrent restores run one after the other", withSnapshots, async (t) => {
  const here = await world(t);
  await here.project("one");
  const one = await here.service.snapshot();
  await here.project("two");
  const two = await here.service.snapshot();
  await Promise.all([one, two, one, two, one].map(({ id }) => here.service.restore(id)));
  assert.deepEqual(await projects(here), ["one"]);
  const forks = await Promise.all(Array.from({ length: 10 }, () => forked(t, here)));
  for (const fork of forks) assert.deepEqual(await projects(fork), ["one"]);
});

test("an open port serves the restored state", withSnapshots, async (t) => {
  const here = await world(t);
  const { url } = await here.service.listen();
  const kept = await here.service.snapshot();
  await here.service.clock.advance("1h");
  const now = async () => ((await (await fetch(`${url}/_svc/clock`)).json()) as { now: string }).now;
  assert.equal(await now(), "2026-01-01T01:00:00.000Z");
  await here.service.restore(kept.id);
  assert.equal(await now(), kept.now);
  assert.equal(here.service.url, url);
});

test("instruments that a test took from the service go on with the restored state", withSnapshots, async (t) => {
  const here = await world(t);
  const { inbox, scenarios, faults, journal, webhooks } = here.service;
  await here.service.reset();
  faults.add({ match: { path: "/v1/events" }, respond: { status: 503 }, times: 1 });
  assert.equal((await here.call("owner", "GET", "/v1/events")).status, 503);
  assert.equal(journal.list({ kind: "request" }).length, 1);
  await scenarios.next("deployment", { result: "fail" });
  assert.equal((await here.service.scenarios.list()).length, 1);
  await subscribe(here);
  inbox.script("hook", [204]);
  await here.project();
  assert.equal((await webhooks.waitFor("project.created")).endpoint, "hook");
  assert.deepEqual(
    inbox.list().map(({ response }) => response),
    [204],
  );
});

test("in the mode start there are neither snapshots nor forks nor instruments", async (t) => {
  const service = await createService({ mode: "start", logLevel: "silent" });
  t.after(() => service.close());
  for (const call of [service.snapshot, service.fork, service.reset, () => service.restore("snap_1")])
    await assert.rejects(async () => call(), /are for the mode dev/);
  for (const call of [() => service.inbox.list(), () => service.faults.list(), () => service.scenarios.list()])
    await assert.rejects(async () => call(), /instruments are for the mode dev/);
});
