import assert from "node:assert/strict";
import { test } from "node:test";
import { ordersOf } from "../../lib/emulator/instruments/delivery-orders.ts";
import { withSnapshots } from "../helpers/engine.ts";
import fc from "../helpers/fast-check.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

test("every order is there once, and the first is the given one", () => {
  assert.deepEqual([...ordersOf([])], [[]]);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(), { maxLength: 5 }), (things) => {
      const orders = [...ordersOf(things)];
      const number = things.reduce((product, _, i) => product * (i + 1), 1);
      assert.equal(new Set(orders.map(String)).size, number);
      assert.deepEqual(orders[0], things);
      for (const order of orders) assert.deepEqual([...order].sort(), [...things].sort());
    }),
  );
});

/** A webhook to the inbox, and its pending deliveries, oldest first. */
async function pending(here: World, names: readonly string[]): Promise<string[]> {
  const webhook = { url: "https://hook.inbox.test", events: ["project.created"] };
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", webhook), 201);
  for (const name of names) await here.project(name);
  const { data } = expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200);
  return data.map((delivery: { id: string }) => delivery.id).reverse();
}

test("deliveries arrive in every order, each on a fork of its own", withSnapshots, async (t) => {
  const here = await world(t);
  const deliveries = await pending(here, ["one", "two", "three"]);
  const seen: string[] = [];
  await here.service.webhooks.deliverInEveryOrder(deliveries, (fork, order) => {
    assert.deepEqual(
      fork.inbox.list().map(({ headers }) => headers["x-service-delivery"]),
      order,
    );
    seen.push(String(order));
  });
  assert.deepEqual(seen, [...ordersOf(deliveries)].map(String));
  assert.deepEqual(here.service.inbox.list(), []);
});

test(
  "the control interface answers the attempts of every order, and the service stays as it is",
  withSnapshots,
  async (t) => {
    const seen: string[] = [];
    const here = await world(t);
    const [one, two] = (await pending(here, ["one", "two"])) as [string, string];
    // A receiver that refuses anything that arrives before the first event.
    const known = new Set<string>();
    here.service.webhooks.sink("hook", async (request) => {
      const id = request.headers.get("x-service-delivery") ?? "";
      seen.push(id);
      if (seen.length % 2 === 1) known.clear();
      known.add(id);
      return new Response(null, { status: known.has(one) ? 200 : 409 });
    });
    const before = [await here.service.clock.upcoming(), here.service.journal.list(), here.service.snapshots.list()];
    const orders = async (deliveries: readonly unknown[], muted?: boolean) =>
      here.call("nobody", "POST", "/_svc/deliveries/orders", { deliveries, muted });
    const attempt = (delivery_id: string, status: number | null) => ({
      delivery_id,
      status,
      error: null,
    });
    assert.deepEqual(expect(await orders([one, two]), 200).data, [
      { order: [one, two], attempts: [attempt(one, 200), attempt(two, 200)] },
      { order: [two, one], attempts: [attempt(two, 409), attempt(one, 200)] },
    ]);
    assert.deepEqual(seen, [one, two, two, one]);
    const muted = expect(await orders([one, two], true), 200).data;
    assert.deepEqual(
      muted.map(({ attempts }: { attempts: { status: number }[] }) => attempts.map(({ status }) => status)),
      [
        [200, 200],
        [200, 200],
      ],
    );
    assert.equal(seen.length, 4);
    assert.deepEqual(
      [await here.service.clock.upcoming(), here.service.journal.list(), here.service.snapshots.list()],
      before,
    );
    here.service.webhooks.forward("hook", null);

    const refusals: [deliveries: unknown[], status: number][] = [
      [[one], 422],
      [new Array(6).fill(one), 422],
      [[one, 7], 422],
      [[one, "dlv_none"], 404],
    ];
    for (const [deliveries, status] of refusals) expect(await orders(deliveries), status);
  },
);

test("a simulated time-out is open in every order", withSnapshots, async (t) => {
  const here = await world(t);
  const deliveries = await pending(here, ["one", "two"]);
  here.service.inbox.script("hook", [{ timeout: true }]);
  const { data } = expect(await here.call("nobody", "POST", "/_svc/deliveries/orders", { deliveries }), 200);
  assert.deepEqual(
    data.map(({ attempts }: { attempts: { status: number | null }[] }) => attempts.map(({ status }) => status)),
    [
      [null, 200],
      [null, 200],
    ],
  );
});

test("the first failing order is reported", withSnapshots, async (t) => {
  const here = await world(t);
  const [one, two] = (await pending(here, ["one", "two"])) as [string, string];
  const check = (_: unknown, [first]: readonly string[]) => {
    if (first !== one) throw new Error("too early");
  };
  await assert.rejects(here.service.webhooks.deliverInEveryOrder([one, two], check), {
    message: `in the order ${two}, ${one}: too early`,
  });
});

test("too many deliveries and unknown deliveries are refused", withSnapshots, async (t) => {
  const here = await world(t);
  const { webhooks } = here.service;
  const eight = new Array(8).fill("dlv_1");
  await assert.rejects(
    webhooks.deliverInEveryOrder(eight, () => {}),
    { name: "RangeError", message: /7 or fewer/ },
  );
  await assert.rejects(
    webhooks.deliverInEveryOrder(["dlv_none"], () => {}),
    /no delivery has this identifier/,
  );
});

test("scenarios and faults are part of the state, and those of a fork are its own", withSnapshots, async (t) => {
  const here = await world(t);
  const { service } = here;
  await service.scenarios.add({ outcome: { result: "fail" } });
  service.faults.add({ respond: { status: 503 }, nth: 2 });
  service.inbox.script("hook", [500]);
  const { id } = await service.snapshot();
  const fork = await service.fork();
  t.after(() => fork.close());
  await fork.scenarios.clear();
  fork.faults.clear();
  assert.deepEqual([(await service.scenarios.list()).length, service.faults.list().length], [1, 1]);

  const status = async () => (await service.fetch("/v1/me")).status;
  assert.deepEqual([await status(), await status(), await status()], [401, 503, 401]);
  await service.scenarios.clear();
  service.faults.clear();
  await pending(here, ["one"]);
  assert.equal(service.journal.list({ kind: "event" }).length, 1);
  await service.restore(id);
  assert.deepEqual([(await service.scenarios.list()).length, service.faults.list().length], [1, 1]);
  assert.deepEqual([await status(), await status()], [401, 503]);
  assert.deepEqual(service.journal.list({ kind: "event" }), []);
  service.faults.clear();
  await pending(here, ["one"]);
  await service.settle();
  assert.equal(service.inbox.list()[0]?.response, 500);
});
