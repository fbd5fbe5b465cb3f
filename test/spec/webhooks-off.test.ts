import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import {
  addresses,
  deliveryCount,
  type Family,
  kinds,
  pending,
  rowsLeft,
  sentTo,
  twoEndpoints,
} from "../helpers/endpoints.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, world } from "../helpers/test-service.ts";

for (const family of Object.keys(kinds) as Family[]) {
  test(`${family}: turning an endpoint off skips its pending deliveries, and all of them can be recovered`, async (t) => {
    const { here, large, small } = await twoEndpoints(t, family);
    const statuses = async () => {
      const { data } = expect(await here.call("viewer", "GET", `${large}/deliveries?per_page=100`), 200);
      return new Set(data.map((one: Record<string, unknown>) => `${one["status"]} ${one["next_attempt_at"]}`));
    };
    const soon = new Date(here.service.clock.now().getTime() + 30_000).toISOString();
    assert.deepEqual(await statuses(), new Set([`pending ${soon}`]));
    for (const status of ["inactive", "active", "inactive"])
      expect(await here.call("owner", "PATCH", large, { status }), 200);
    assert.deepEqual(await statuses(), new Set(["skipped null"]));
    assert.equal(await pending(here), 1);
    const [{ id }] = expect(await here.call("viewer", "GET", `${large}/deliveries`), 200).data;
    const again = expect(await here.call("owner", "POST", `${large}/deliveries/${id}/redeliver`), 202);
    assert.equal(again.status, "skipped");
    await here.service.clock.advance("3h");
    assert.deepEqual(
      [sentTo(here, "large"), sentTo(here, "small")],
      [deliveryCount + 1, 6],
      "a redelivery is one attempt",
    );
    expect(await here.call("owner", "PATCH", large, { status: "active" }), 200);
    await here.service.clock.advance("3h");
    assert.equal(sentTo(here, "large"), deliveryCount + 1, "turning it on sends nothing by itself");
    here.service.webhooks.sink("large", () => new Response(null, { status: 200 }));
    const since = "2026-01-01T00:00:00Z";
    assert.equal(expect(await here.call("owner", "POST", `${large}/recover`, { since }), 202).queued, deliveryCount);
    assert.equal(await pending(here), deliveryCount);
    await here.service.clock.advance("3h");
    assert.equal(sentTo(here, "large"), deliveryCount + 1 + deliveryCount);
    assert.deepEqual(await statuses(), new Set(["succeeded null"]));
    assert.equal(expect(await here.call("viewer", "GET", small), 200).status, "inactive");
  });
}

test("events after it is turned on again are sent", async (t) => {
  const { here, large } = await twoEndpoints(t);
  for (const status of ["inactive", "active"]) expect(await here.call("owner", "PATCH", large, { status }), 200);
  await here.project("later");
  await here.service.settle();
  assert.equal(sentTo(here, "large"), deliveryCount + 1);
});

for (const [number, status] of [
  [5, "skipped"],
  [6, "abandoned"],
] as const)
  test(`turned off during attempt ${number}, a delivery is ${status}`, async (t) => {
    const here = await world(t);
    const hook = { url: addresses.large, events: ["project.created"] };
    const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
    const path = `/v1/webhooks/${id}`;
    here.service.webhooks.sink("large", async () => {
      if (sentTo(here, "large") === number)
        expect(await here.call("owner", "PATCH", path, { status: "inactive" }), 200);
      return new Response(null, { status: 500 });
    });
    await here.project();
    await here.service.clock.advance("3h");
    const { data } = expect(await here.call("viewer", "GET", `${path}/deliveries`), 200);
    assert.deepEqual([data[0].status, data[0].attempts.length], [status, number]);
  });

test("turning an endpoint off stops due deliveries, except those in flight", async (t) => {
  const { here, large } = await twoEndpoints(t);
  let off: Promise<unknown> | undefined;
  here.service.webhooks.sink("large", async () => {
    off ??= here.call("owner", "PATCH", large, { status: "inactive" });
    await off;
    return new Response(null, { status: 500 });
  });
  await here.service.clock.advance("30s");
  assert.equal(sentTo(here, "large"), deliveryCount + 32);
  await here.service.clock.advance("3h");
  assert.equal(sentTo(here, "large"), deliveryCount + 32);
});

test("recovered deliveries and pings are sent while an endpoint is off, until it is turned off again", async (t) => {
  const { here, large } = await twoEndpoints(t);
  const off = async () => expect(await here.call("owner", "PATCH", large, { status: "inactive" }), 200);
  await off();
  expect(await here.call("owner", "POST", `${large}/test`), 202);
  expect(await here.call("owner", "PATCH", large, { events: ["*"] }), 200);
  await here.service.clock.advance("40s");
  assert.equal(sentTo(here, "large"), deliveryCount + 2, "a change of other fields skips nothing");
  await off();
  assert.equal(await pending(here), 1, "the other endpoint's");
  await here.service.clock.advance("3h");
  assert.equal(sentTo(here, "large"), deliveryCount + 2);
});

test("skipped deliveries are deleted after the retention", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const { here, large } = await twoEndpoints(t, "webhooks", { database });
  expect(await here.call("owner", "PATCH", large, { status: "inactive" }), 200);
  await here.service.clock.advance("31d");
  assert.deepEqual(rowsLeft(database), { endpoints: 2, deliveries: 0, delivery_attempts: 0 });
});
