import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { yieldToEventLoop } from "../../lib/kernel/node/event-loop.ts";
import {
  addresses,
  deliveryCount,
  type Family,
  kinds,
  metric,
  options,
  pending,
  rowsLeft,
  sentTo,
  twoEndpoints,
} from "../helpers/endpoints.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, world } from "../helpers/test-service.ts";

for (const family of Object.keys(kinds) as Family[]) {
  test(`${family}: an endpoint with more deliveries than one transaction deletes is gone at once, with all of them`, async (t) => {
    const { here, large, small } = await twoEndpoints(t, family);
    const [{ id }] = expect(await here.call("viewer", "GET", `${large}/deliveries`), 200).data;
    assert.equal(await pending(here), deliveryCount + 1);
    expect(await here.call("owner", "POST", `${large}/deliveries/${id}/redeliver`), 202);
    expect(await here.call("owner", "DELETE", large), 204);
    for (const [method, path, body] of [
      ["GET", large],
      ["PATCH", large, { status: "active" }],
      ["DELETE", large],
      ["GET", `${large}/deliveries`],
      ["POST", `${large}/test`],
      ["POST", `${large}/recover`, { since: "2026-01-01T00:00:00Z" }],
      ["POST", `${large}/deliveries/${id}/redeliver`],
    ] as const)
      expect(await here.call("owner", method, path, body), 404);
    await assert.rejects(here.service.webhooks.deliver([id]), { code: "not_found" });
    const { data } = expect(await here.call("viewer", "GET", `/v1/${family}`), 200);
    assert.deepEqual(
      data.map((one: { id: string }) => `/v1/${family}/${one.id}`),
      [small],
    );
    assert.equal(await pending(here), 1);
    assert.equal(sentTo(here, "large"), deliveryCount);
    await here.project("later");
    await here.service.clock.advance("3h");
    assert.equal(sentTo(here, "large"), deliveryCount, "nothing more is sent");
    assert.equal(sentTo(here, "small"), 2 * 6);
  });
}

test("a deleted endpoint does not count towards the limit of 100", async (t) => {
  const { here, large } = await twoEndpoints(t);
  const another = () => here.call("owner", "POST", "/v1/webhooks", kinds.webhooks(addresses.large));
  for (let i = 2; i < 100; i++) expect(await another(), 201);
  expect(await another(), 409);
  expect(await here.call("owner", "DELETE", large), 204);
  expect(await another(), 201);
  expect(await another(), 409);
});

test("deliveries that were due when the endpoint was deleted are never sent", async (t) => {
  const { here, large } = await twoEndpoints(t);
  const since = "2026-01-01T00:00:00Z";
  assert.equal(expect(await here.call("owner", "POST", `${large}/recover`, { since }), 202).queued, deliveryCount);
  expect(await here.call("owner", "DELETE", large), 204);
  const [pump, batches] = [1, 4];
  assert.equal((await here.service.settle()).ran, pump + batches);
  assert.equal(sentTo(here, "large"), deliveryCount);
});

test("deleting an endpoint aborts its requests, and their results are not recorded", async (t) => {
  const { here, large } = await twoEndpoints(t);
  let began = () => {};
  const begun = new Promise<void>((resolve) => {
    began = resolve;
  });
  here.service.webhooks.sink("large", () => {
    began();
    return new Promise(() => {});
  });
  const advanced = Promise.all([here.service.clock.advance("30s")]);
  await begun;
  expect(await here.call("owner", "DELETE", large), 204);
  await advanced;
  const ofSmall = sentTo(here, "small");
  assert.equal(await metric(here, 'svc_delivery_tries_total{outcome="failed"}'), deliveryCount + ofSmall);
});

const small = { endpoints: 1, deliveries: 1, delivery_attempts: 1 };

test("the rows of a deleted endpoint are deleted in batches, until none is left", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const { here, large } = await twoEndpoints(t, "webhooks", { database });
  assert.deepEqual(rowsLeft(database), {
    endpoints: 2,
    deliveries: deliveryCount + 1,
    delivery_attempts: deliveryCount + 1,
  });
  expect(await here.call("owner", "DELETE", large), 204);
  assert.deepEqual(rowsLeft(database), {
    endpoints: 2,
    deliveries: deliveryCount - 49,
    delivery_attempts: deliveryCount - 49,
  });
  assert.equal((await here.service.settle()).ran, 4);
  assert.deepEqual(rowsLeft(database), small);
});

test("a restarted service continues the deletion", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const { here, large } = await twoEndpoints(t, "webhooks", { database });
  expect(await here.call("owner", "DELETE", large), 204);
  await here.service.close();
  assert.equal(rowsLeft(database)["endpoints"], 2);
  const again = await world(t, { ...options, database, clock: "manual" });
  expect(await again.call("owner", "GET", large), 404);
  await again.service.settle();
  assert.deepEqual(rowsLeft(database), small);
});

test("deleting an endpoint of a single batch leaves no job behind", async (t) => {
  const { here, small } = await twoEndpoints(t);
  expect(await here.call("owner", "DELETE", small), 204);
  assert.equal((await here.service.settle()).ran, 0);
});

/** Adds this many copies of the only delivery. */
function copy(database: string, number: number): void {
  const columns =
    "organization_id, endpoint_id, event_id, event, target, body, status, created_at, next_attempt_at, tries, rung";
  const other = new Database(database);
  other.exec(`insert into deliveries (id, ${columns}) with recursive n (i) as (select 1 union all select i + 1 from n
    where i < ${number}) select 'dlv_Z' || printf('%025d', i), ${columns} from n, deliveries`);
  other.close();
}

/** A webhook with this many skipped deliveries, and a function that watches the queue while they are recovered. */
async function skipped(t: TestContext, number: number) {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { ...options, database });
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", kinds.webhooks(addresses.large)), 201);
  const path = `/v1/webhooks/${id}`;
  expect(await here.call("owner", "POST", `${path}/test`), 202);
  if (number > 1) copy(database, number - 1);
  expect(await here.call("owner", "PATCH", path, { status: "inactive" }), 200);
  const reader = new Database(database, { readonly: true });
  t.after(() => reader.close());
  const queued = reader
    .prepare(
      "select count(*) from deliveries d join endpoints e on e.id = endpoint_id and e.epoch = d.epoch where d.status = 'pending'",
    )
    .pluck();
  /** Reads the queue at each iteration of the event loop until the reply arrives. */
  const watch = async <R>(reply: Promise<R>, look = async (_: number) => {}) => {
    const seen = new Set<number>();
    let over = false;
    const replied = reply.finally(() => {
      over = true;
    });
    for (let turns = 0; !over && turns < 1e6; turns++) {
      const now = queued.get() as number;
      if (!seen.has(now)) await look(now);
      seen.add(now);
      await yieldToEventLoop();
    }
    return { reply: await replied, seen: [...seen, queued.get() as number] };
  };
  const recover = (headers = {}, who: "owner" | "admin" = "owner") =>
    here.call(who, "POST", `${path}/recover`, { since: "2026-01-01T00:00:00Z" }, headers);
  return { here, path, database, watch, recover };
}

test("many deliveries are recovered in batches, other calls run in between, and the answer counts all of them", async (t) => {
  const { watch, recover } = await skipped(t, 1_100);
  const headers = { "idempotency-key": "again" };
  const { reply, seen } = await watch(recover(headers));
  assert.equal(expect(reply, 202).queued, 1_100);
  assert.deepEqual([...new Set(seen)], [0, 500, 1_000, 1_100]);
  const replayed = await recover(headers);
  assert.deepEqual([replayed.text, replayed.headers.get("idempotent-replayed")], [reply.text, "true"]);
  assert.equal(expect(await recover(), 202).queued, 0);
});

test("a suspension stops a recovery, and the deliveries queued before it are sent", async (t) => {
  const { here, watch, recover } = await skipped(t, 1_100);
  const { data } = expect(await here.call("owner", "GET", "/v1/users"), 200);
  const { id } = data.find(({ name }: { name: string }) => name === "admin");
  const { reply } = await watch(recover({}, "admin"), async (now) => {
    if (now === 500) expect(await here.call("owner", "POST", `/v1/users/${id}/suspend`), 200);
  });
  expect(reply, 401);
  await here.service.settle();
  const sent = sentTo(here, "large");
  assert.ok(sent >= 500 && sent < 1_100, `${sent}`);
});

test("closing the service during a recovery answers 503", async (t) => {
  const { here, recover, database } = await skipped(t, 1);
  copy(database, 20_000);
  const reply = recover();
  await here.service.close();
  assert.equal(expect(await reply, 503).error.message, "the service is shutting down or has stopped");
});

test("deleting a webhook during a recovery ends it with 404", async (t) => {
  const { here, path, watch, recover } = await skipped(t, 1_100);
  const { reply, seen } = await watch(recover(), async (now) => {
    if (now === 500) expect(await here.call("owner", "DELETE", path), 204);
  });
  expect(reply, 404);
  assert.ok(Math.max(...seen) < 1_100, `${seen}`);
});

test("recovery includes events at the given instant, and none before it", async (t) => {
  const here = await world(t, options);
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", kinds.webhooks(addresses.large)), 201);
  const path = `/v1/webhooks/${id}`;
  expect(await here.call("owner", "PATCH", path, { status: "inactive" }), 200);
  for (const name of ["first", "second", "third"]) {
    await here.project(name);
    await here.service.clock.advance("1ms");
  }
  const recover = async (since: string) => expect(await here.call("owner", "POST", `${path}/recover`, { since }), 202);
  assert.equal((await recover("2026-01-01T00:00:00.003Z")).queued, 0);
  assert.equal((await recover("2026-01-01T00:00:00.001Z")).queued, 2);
  assert.equal((await recover("1970-01-01T00:00:00Z")).queued, 1);
  assert.equal((await recover("0001-01-01T00:00:00Z")).queued, 0);
});
