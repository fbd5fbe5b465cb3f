import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, start, type World, world } from "../helpers/test-service.ts";

/** A webhook to the inbox `hook` for new projects. */
const hook = async (here: World) =>
  expect(
    await here.call("owner", "POST", "/v1/webhooks", {
      ...{ url: "https://hook.inbox.test", events: ["project.created"] },
    }),
    201,
  );

const caught = (here: World) => here.service.inbox.list();
const attempts = async (here: World, id: string) =>
  expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data[0].attempts;

test("a timeout fails after ten seconds of the service's clock, and the backoff counts from then", async (t) => {
  const here = await world(t);
  const { id } = await hook(here);
  const all = async () => expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data;
  here.service.inbox.script("hook", [{ timeout: true }, { timeout: true }]);
  await here.project("one");
  await here.service.clock.advance("9s");
  const [open] = await all();
  assert.deepEqual([open.status, open.attempts, open.next_attempt_at], ["pending", [], null]);
  await here.project("two");
  await here.service.clock.advance("1s");
  const [two, one] = await all();
  assert.deepEqual([two.status, one.next_attempt_at], ["pending", "2026-01-01T00:00:40.000Z"]);
  const timedOut = { status: null, duration_ms: 10_000, error: "timeout after 10 s", response: null };
  assert.deepEqual(one.attempts, [{ number: 1, at: start, ...timedOut }]);
  await here.service.clock.advance("1m");
  assert.deepEqual(
    (await all()).map(({ status, attempts }: { status: string; attempts: { at: string }[] }) => [
      status,
      ...attempts.map(({ at }) => at.slice(17, 19)),
    ]),
    [
      ["succeeded", "09", "49"],
      ["succeeded", "00", "40"],
    ],
  );
});

test("six time-outs end in an abandoned delivery and an inactive webhook", async (t) => {
  const here = await world(t);
  const { id } = await hook(here);
  here.service.inbox.script("hook", new Array(6).fill({ timeout: true }));
  await here.project();
  await here.service.clock.advance("2h43m29s");
  const state = async () => expect(await here.call("owner", "GET", `/v1/webhooks/${id}`), 200).status;
  assert.deepEqual([await state(), (await attempts(here, id)).length], ["active", 5]);
  await here.service.clock.advance("1s");
  assert.deepEqual([await state(), (await attempts(here, id)).length, caught(here).length], ["inactive", 6, 6]);
});

test("a redelivery that times out fails ten seconds later, and turns nothing off", async (t) => {
  const here = await world(t);
  const { id } = await hook(here);
  await here.project();
  await here.service.settle();
  const [{ id: dlv }] = expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data;
  here.service.inbox.script("hook", [{ timeout: true }]);
  expect(await here.call("owner", "POST", `/v1/webhooks/${id}/deliveries/${dlv}/redeliver`), 202);
  await here.service.clock.advance("9s");
  assert.equal((await attempts(here, id)).length, 1);
  await here.service.clock.advance("1s");
  const [, second] = await attempts(here, id);
  assert.deepEqual([second.number, second.at, second.error], [2, start, "timeout after 10 s"]);
});

test("a timeout whose job is given up ends a minute later", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const before = await world(t, { database });
  const { id } = await hook(before);
  before.service.inbox.script("hook", [{ timeout: true }]);
  await before.project();
  await before.service.settle();
  await before.service.close();
  const rows = new Database(database);
  // The process ended so often during this job that the next start gives it up.
  rows
    .prepare("update jobs set state = 'running', lease_until = run_at, crashes = 50 where kind = 'deliveries.end'")
    .run();
  rows.close();
  const here = await world(t, { database });
  await here.service.clock.advance("10s");
  assert.deepEqual(await attempts(here, id), []);
  assert.deepEqual(await here.service.invariants(), []);
  await here.service.clock.advance("1m");
  assert.equal((await attempts(here, id))[0].error, "timeout after 10 s");
});

test("a webhook that is deleted during an attempt gets nothing more", async (t) => {
  const here = await world(t);
  const { id } = await hook(here);
  here.service.inbox.script("hook", [{ timeout: true }]);
  await here.project();
  await here.service.settle();
  expect(await here.call("owner", "DELETE", `/v1/webhooks/${id}`), 204);
  await here.service.clock.advance("1h");
  assert.equal(caught(here).length, 1);
});

test("deliveries arrive in the order that a tester names, a repeated one twice", async (t) => {
  const here = await world(t);
  const { id } = await hook(here);
  for (const name of ["one", "two", "three"]) await here.project(name);
  const all = expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data;
  const [three, two, one] = all.map((delivery: { id: string }) => delivery.id);
  await here.service.webhooks.deliver([two, three, two]);
  expect(await here.call("nobody", "POST", "/_svc/deliveries", { deliveries: [one] }), 200);
  await here.service.clock.advance("3h");
  assert.deepEqual(
    caught(here).map(({ headers }) => headers["x-service-delivery"]),
    [two, three, two, one],
  );
  await assert.rejects(here.service.webhooks.deliver([one, "dlv_none"]), { code: "not_found" });
  assert.equal(caught(here).length, 4, "none of them was tried");
  expect(await here.call("nobody", "POST", "/_svc/deliveries", { deliveries: ["dlv_none"] }), 404);
  expect(await here.call("nobody", "POST", "/_svc/deliveries", { deliveries: "dlv_none" }), 422);
});
