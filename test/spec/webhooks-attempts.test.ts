import assert from "node:assert/strict";
import { test } from "node:test";
import { expect, world } from "../helpers/test-service.ts";

test("a delivery keeps its last 100 attempts, and a page of many attempts is whole", async (t) => {
  const here = await world(t);
  here.service.webhooks.sink("hook", async () => new Response("no", { status: 500 }));
  const hook = { url: "https://hook.inbox.test/in", events: ["project.created"] };
  const webhook = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  const path = `/v1/webhooks/${webhook.id}`;
  interface Delivery {
    readonly id: string;
    readonly attempts: readonly { readonly number: number }[];
  }
  const deliveries = async () =>
    expect(await here.call("owner", "GET", `${path}/deliveries`), 200).data as readonly Delivery[];
  const numbers = async () => (await deliveries()).map(({ attempts }) => attempts.map(({ number }) => number));
  const last = (most: number) => Array.from({ length: 100 }, (_, i) => most - 99 + i);
  const redeliver = async (times: number) => {
    const [newest] = await deliveries();
    for (let i = 0; i < times; i++) await here.service.webhooks.deliver([newest?.id ?? ""]);
  };

  await here.project();
  await here.service.clock.advance("3h");
  await redeliver(98);
  assert.deepEqual(await numbers(), [last(104)]);

  expect(await here.call("owner", "PATCH", path, { status: "active" }), 200);
  await here.project("second");
  await here.service.settle();
  await redeliver(99);
  assert.deepEqual(await numbers(), [last(100), last(104)]);
});
