import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { type TestContext, test } from "node:test";
import { manualClockHint } from "../../lib/kernel/manual-clock-hint.ts";
import { drainEventLoop } from "../helpers/engine.ts";
import { callAs, member, withMembers } from "../helpers/members.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { expect, type Reply, start, type World, world } from "../helpers/test-service.ts";

const missing = "dep_01ARZ3NDEKTSV4RRFFQ69G5FAV";

/** A world with a queued deployment, and a GET of it that waits. */
async function queued(t: TestContext, options: Parameters<typeof world>[1] = {}) {
  const here = await world(t, options);
  const project = await here.project();
  const { id } = await here.deploy(project.id);
  return { ...here, project, id: id as string, wait: (seconds: number | string) => waiting(here, id, seconds) };
}

const waiting = (here: World, id: string, seconds: number | string, who: "owner" | "stranger" = "owner") =>
  here.call(who, "GET", `/v1/deployments/${id}?wait=${seconds}`);

const drain = ({ call }: Pick<World, "call">) => drainEventLoop(() => call("viewer", "GET", "/v1/me"));

/** A pending answer, and whether it has arrived. */
function pending(reply: Promise<Reply>) {
  const state = { hasArrived: false, reply };
  void reply.finally(() => {
    state.hasArrived = true;
  });
  return state;
}

test("?wait answers when the work has ended", async (t) => {
  const here = await queued(t);
  const asked = pending(here.wait(30));
  await here.service.clock.advance("5s");
  await drain(here);
  assert.equal(asked.hasArrived, false, "it still deploys");
  await here.service.clock.advance("1s");
  assert.equal(expect(await asked.reply, 200).status, "active");
});

test("?wait answers after that many seconds of the service's clock, with the state of that moment", async (t) => {
  const here = await queued(t);
  const asked = here.wait(2);
  await drain(here);
  await here.service.clock.advance("2s");
  assert.equal(expect(await asked, 200).status, "building");
});

test("?wait under a manual clock is a warning in the log, with how to move that clock", async (t) => {
  const logged: string[] = [];
  const warn = (message: string) => void logged.push(message);
  const here = await queued(t, { logger: { error() {}, warn, info() {}, debug() {} } });
  const asked = here.wait(30);
  await drain(here);
  assert.deepEqual(logged, [`a call waits, but ${manualClockHint(start)}`]);
  assert.match(String(logged), /service\.clock\.advance\("10s"\).* POST \/_svc\/clock\/advance .*service\.settle\(\)/);
  await here.service.clock.advance("1m");
  expect(await asked, 200);
  expect(await here.wait(30), 200);
  expect(await here.wait(0), 200);
  assert.equal(logged.length, 1, "what has ended, or does not wait, needs no move");
});

test("?wait also ends after that many seconds of the machine, since a manual clock must hold no caller", async (t) => {
  const here = await queued(t);
  mockTime(t, { apis: ["setTimeout"] });
  const asked = pending(here.wait(7));
  await drain(here);
  t.mock.timers.tick(6_999);
  await drain(here);
  assert.equal(asked.hasArrived, false);
  t.mock.timers.tick(1);
  assert.equal(expect(await asked.reply, 200).status, "queued");
});

test("?wait answers at once for 0, for work that has ended, and for an unknown identifier", async (t) => {
  const here = await queued(t);
  assert.equal(expect(await here.wait(0), 200).status, "queued");
  expect(await waiting(here, missing, 30), 404);
  expect(await waiting(here, here.id, 30, "stranger"), 404);
  await here.service.clock.advance("1m");
  assert.equal(expect(await here.wait(60), 200).status, "active");
});

test("?wait ends with a cancellation, and with 404 where the project is deleted", async (t) => {
  const here = await queued(t);
  const cancelled = here.wait(60);
  await drain(here);
  expect(await here.call("owner", "POST", `/v1/deployments/${here.id}/cancel`), 200);
  assert.equal(expect(await cancelled, 200).status, "cancelled");
  const { id } = await here.deploy(here.project.id);
  const removed = waiting(here, id, 60);
  await drain(here);
  expect(await here.call("owner", "DELETE", `/v1/projects/${here.project.id}`), 204);
  expect(await removed, 404);
});

for (const wrong of ["61", "-1", "1.5", "abc", "", "1e1", " 1", "3&wait=4"]) {
  test(`?wait=${wrong} is refused`, async (t) => {
    const here = await queued(t);
    const { status, body } = await here.wait(wrong);
    assert.deepEqual([status, body.error.code, body.error.details[0].path], [422, "validation_failed", "wait"]);
  });
}

test("close() ends waiting requests at once, with the state of that moment", async (t) => {
  const here = await queued(t);
  const asked = here.wait(60);
  await drain(here);
  await here.service.close();
  assert.equal(expect(await asked, 200).status, "queued");
});

test("A key that is revoked during a wait gets 401", async (t) => {
  const seed = withMembers(
    member("leaver", "viewer"),
    member("passing", "viewer", { expires_at: "2026-01-01T00:00:02Z" }),
  );
  const here = await queued(t, { seed });
  const path = `/v1/deployments/${here.id}?wait=60`;
  const { data } = expect(await here.call("owner", "GET", "/v1/users"), 200);
  const leaver = data.find(({ name }: { name: string }) => name === "leaver").id;
  const suspended = callAs(here, "leaver", "GET", path);
  const expired = callAs(here, "passing", "GET", path);
  await drain(here);
  expect(await here.call("owner", "POST", `/v1/users/${leaver}/suspend`), 200);
  expect(await suspended, 401);
  await here.service.clock.advance("2s");
  expect(await expired, 401);
});

test("A caller who aborts a wait gets no answer", async (t) => {
  const here = await queued(t);
  const control = new AbortController();
  const headers = { authorization: "Bearer sk_live_demo_owner" };
  const asked = here.service.fetch(`/v1/deployments/${here.id}?wait=60`, { headers, signal: control.signal });
  await drain(here);
  control.abort();
  await assert.rejects(asked, { name: "AbortError" });
});

test("a rollback waits for its deployment, and a wrong wait makes none", async (t) => {
  const waits = new EventEmitter();
  const warn = (message: string) => void waits.emit(message.slice(0, 12));
  const here = await queued(t, { logger: { error() {}, warn, info() {}, debug() {} } });
  await here.service.clock.advance("10s");
  const { id } = await here.deploy(here.project.id);
  await here.service.clock.advance("10s");
  const rollback = (wait: string) => here.call("owner", "POST", `/v1/deployments/${id}/rollback?wait=${wait}`);
  for (const wait of ["61", "-1", "x"]) expect(await rollback(wait), 422);
  const begun = once(waits, "a call waits");
  const asked = pending(rollback("30"));
  await begun; // Time that passes before the deployment is made is no time of its build.
  await here.service.clock.advance("5s");
  await drain(here);
  assert.equal(asked.hasArrived, false, "it still deploys");
  await here.service.clock.advance("1s");
  const { status, source } = expect(await asked.reply, 201);
  assert.deepEqual([status, source.branch], ["active", "main"]);
  assert.equal(expect(await rollback("0"), 201).status, "queued");
});

test("a rollback with an idempotency key waits too; its repetitions show the deployment as it was queued", async (t) => {
  const here = await queued(t);
  await here.service.clock.advance("10s");
  const { id } = await here.deploy(here.project.id);
  await here.service.clock.advance("10s");
  const key = { "idempotency-key": "back" };
  const rollback = () => here.call("owner", "POST", `/v1/deployments/${id}/rollback?wait=30`, undefined, key);
  const asked = rollback();
  await drain(here);
  await here.service.clock.advance("10s");
  const first = expect(await asked, 201);
  assert.equal(first.status, "active");
  const again = expect(await rollback(), 201);
  assert.deepEqual([again.id, again.status], [first.id, "queued"]);
  const lost = here.call("owner", "POST", `/v1/deployments/${id}/rollback?wait=30`, undefined, {
    "idempotency-key": "lost",
  });
  await drain(here);
  expect(await here.call("owner", "DELETE", `/v1/projects/${here.project.id}`), 204);
  expect(await lost, 404);
});
