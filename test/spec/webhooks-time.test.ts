import assert from "node:assert/strict";
import { test } from "node:test";
import { deferred } from "../helpers/temporary-store.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const hook = { url: "https://hook.inbox.test/in", events: ["project.created"] };

async function made(here: World, responses: Parameters<World["service"]["inbox"]["script"]>[1]) {
  here.service.inbox.script("hook", responses);
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  await here.project();
  await here.service.settle();
  return id as string;
}

const deliveryOf = async (here: World, id: string) =>
  expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data[0];

const after = (seconds: number, from: string) => new Date(Date.parse(from) + seconds * 1000).toISOString();

test("a request without a response times out after ten seconds by the service's clock", async (t) => {
  const here = await world(t);
  const id = await made(here, [{ timeout: true }, 200]);
  const { created_at, attempts } = await deliveryOf(here, id);
  assert.deepEqual(attempts, []);
  await here.service.clock.advance("9999ms");
  assert.deepEqual((await deliveryOf(here, id)).attempts, []);
  await here.service.clock.advance("1ms");
  const failed = await deliveryOf(here, id);
  assert.deepEqual(failed.attempts, [
    { number: 1, at: created_at, status: null, duration_ms: 10_000, error: "timeout after 10 s", response: null },
  ]);
  assert.equal(failed.next_attempt_at, after(40, created_at));
  await here.service.clock.advance("30s");
  const delivery = await deliveryOf(here, id);
  assert.deepEqual(
    [delivery.status, delivery.attempts.length, delivery.attempts[1].at],
    ["succeeded", 2, after(40, created_at)],
  );
});

test("six time-outs of ten seconds each, and the delivery is abandoned", async (t) => {
  const here = await world(t);
  const id = await made(here, new Array(6).fill({ timeout: true }));
  await here.service.clock.advance("2h42m30s");
  await here.service.clock.advance("59s");
  assert.equal((await deliveryOf(here, id)).status, "pending");
  await here.service.clock.advance("1s");
  const { status, attempts, created_at } = await deliveryOf(here, id);
  assert.deepEqual([status, attempts.length], ["abandoned", 6]);
  assert.equal(attempts[5].at, after(9750 + 50, created_at));
  assert.equal(expect(await here.call("owner", "GET", `/v1/webhooks/${id}`), 200).status, "inactive");
});

test("a redelivery times out after ten seconds too, and deleting its endpoint ends it", async (t) => {
  const here = await world(t);
  const id = await made(here, [200, { timeout: true }, { timeout: true }]);
  const { id: dlv } = await deliveryOf(here, id);
  expect(await here.call("owner", "POST", `/v1/webhooks/${id}/deliveries/${dlv}/redeliver`), 202);
  await here.service.settle();
  assert.equal((await deliveryOf(here, id)).attempts.length, 1);
  await here.service.clock.advance("10s");
  const [, second] = (await deliveryOf(here, id)).attempts;
  assert.deepEqual([second.number, second.error, second.duration_ms], [2, "timeout after 10 s", 10_000]);
  expect(await here.call("owner", "POST", `/v1/webhooks/${id}/deliveries/${dlv}/redeliver`), 202);
  await here.service.settle();
  expect(await here.call("owner", "DELETE", `/v1/webhooks/${id}`), 204);
  await here.service.clock.advance("1m");
});

test("Retry-After lengthens a delay only if the option is set, and never beyond the longest one", async (t) => {
  const busy = (seconds: string) => [{ status: 429, headers: { "Retry-After": seconds } }];
  const next = async (retryAfter: boolean, seconds: string) => {
    const here = await world(t, { deliveries: { retryAfter } });
    const { created_at, next_attempt_at } = await deliveryOf(here, await made(here, busy(seconds)));
    return (Date.parse(next_attempt_at) - Date.parse(created_at)) / 1000;
  };
  assert.equal(await next(false, "90"), 30);
  assert.equal(await next(true, "90"), 90);
  assert.equal(await next(true, "5"), 30);
  assert.equal(await next(true, "999999"), 7200);
  assert.equal(await next(true, "soon"), 30);
  assert.equal(await next(true, "Thu, 01 Jan 1970 00:00:00 GMT"), 30);
});

test("deliveries are deleted after the retention", async (t) => {
  const here = await world(t, { deliveries: { retention: "2d" } });
  const id = await made(here, [200]);
  await here.service.clock.advance("1d");
  assert.equal((await deliveryOf(here, id)).status, "succeeded");
  await here.service.clock.advance("3d");
  assert.equal(await deliveryOf(here, id), undefined);
});

test("a delivery redelivered while it is queued keeps its place, and no attempt number occurs twice", async (t) => {
  const here = await world(t);
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  for (let i = 0; i < 40; i += 1) await here.project(`web-${i}`);
  const path = `/v1/webhooks/${id}/deliveries`;
  // Deliveries of one instant are sent in the order of their identifiers, so the newest comes last.
  const [last] = expect(await here.call("owner", "GET", path), 200).data;
  const [full, resume] = [deferred(), deferred()];
  let received = 0;
  here.service.webhooks.sink("hook", async ({ headers }) => {
    received += 1;
    if (headers.get("x-service-delivery") === last.id)
      return new Response(null, { status: headers.get("x-service-attempt") === "1" ? 500 : 200 });
    if (received === 32) full.open();
    await resume.promise;
    return new Response();
  });
  const settled = Promise.all([here.service.settle()]);
  await full.promise;
  await here.service.webhooks.deliver([last.id]);
  resume.open();
  await settled;
  const { data } = expect(await here.call("owner", "GET", `${path}?per_page=50`), 200);
  const attempts = data[0].attempts.map(({ number, status }: { number: number; status: number }) => [number, status]);
  assert.deepEqual(attempts, [
    [1, 500],
    [2, 200],
  ]);
  assert.equal(received, 41);
  assert.ok(data.every(({ status }: { status: string }) => status === "succeeded"));
});
