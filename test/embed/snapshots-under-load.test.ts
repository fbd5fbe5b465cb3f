import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { withSnapshots } from "../helpers/engine.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const hook = "https://hook.inbox.test/";
const subscribe = async (here: World, more: object = {}) =>
  expect(await here.call("owner", "POST", "/v1/webhooks", { url: hook, events: ["*"], ...more }), 201);
const projects = async (here: World): Promise<string[]> =>
  expect(await here.call("owner", "GET", "/v1/projects"), 200).data.map(({ name }: { name: string }) => name);

/** A promise that the test resolves. */
function held<T>() {
  let give: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    give = resolve;
  });
  return { promise, give };
}

test("work in flight during a restore changes nothing afterwards", withSnapshots, async (t) => {
  const attempts = async (here: World, of: { id: string }) => {
    const { data } = expect(await here.call("owner", "GET", "/v1/events"), 200);
    return [data.length, of.id];
  };
  const begin = async (t: TestContext) => {
    const here = await world(t);
    const endpoint = await subscribe(here);
    const kept = await here.service.snapshot();
    const arrived = held<void>();
    const answer = held<Response>();
    here.service.webhooks.sink("hook", () => {
      arrived.give();
      return answer.promise;
    });
    await here.project();
    const settled = Promise.all([here.service.settle()]);
    await arrived.promise;
    return { here, endpoint, kept, answer, settled };
  };
  await t.test("a delivery that waits for its answer", async (t) => {
    const { here, endpoint, kept, answer, settled } = await begin(t);
    await here.service.restore(kept.id);
    answer.give(new Response(null, { status: 500 }));
    await settled;
    assert.deepEqual(await attempts(here, endpoint), [0, endpoint.id]);
    assert.deepEqual(await here.service.clock.advance("3h"), { now: "2026-01-01T03:00:00.000Z", ran: 0 });
  });
  await t.test("a fork sends its parent's pending deliveries itself", async (t) => {
    const { here, answer, settled } = await begin(t);
    const fork = await here.service.fork();
    t.after(() => fork.close());
    fork.webhooks.sink("hook", () => new Response());
    assert.equal((await fork.settle()).ran, 1);
    assert.equal(fork.inbox.list().at(-1)?.response, 200);
    answer.give(new Response());
    await settled;
    assert.equal(here.service.inbox.list().at(-1)?.response, 200);
  });
  await t.test("a request that waits", async (t) => {
    const here = await world(t);
    const kept = await here.service.snapshot();
    const body = { name: "late", region: "eu-west-1" };
    const replies = Array.from({ length: 20 }, () => here.call("owner", "POST", "/v1/projects", body));
    const restored = here.service.restore(kept.id);
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    await restored;
    for (const status of statuses) assert.ok([201, 409, 503].includes(status), String(status));
    assert.deepEqual(await projects(here), []);
  });
});

test("a receiver may bring a state back while it is being called", withSnapshots, async (t) => {
  const here = await world(t);
  await subscribe(here);
  const kept = await here.service.snapshot();
  here.service.webhooks.sink("hook", async () => {
    await here.service.restore(kept.id);
    return new Response();
  });
  await here.project();
  await here.service.settle();
  assert.deepEqual(await projects(here), []);
  await here.project("after");
  assert.deepEqual(await projects(here), ["after"]);
});
