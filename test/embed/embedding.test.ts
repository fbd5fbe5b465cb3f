import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { createService } from "../../lib/index.ts";
import { manualClockHint } from "../../lib/kernel/manual-clock-hint.ts";
import { forkTestService } from "../../lib/testing.ts";
import { drainEventLoop } from "../helpers/engine.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { keyOf, start, type World, world } from "../helpers/test-service.ts";

/** A value that JavaScript can pass although the types forbid it. */
// biome-ignore lint/suspicious/noExplicitAny: the types would not let it pass
const untyped = (value: unknown): any => value;

const turns = ({ call }: Pick<World, "call">) => drainEventLoop(() => call("viewer", "GET", "/v1/me"));

test("an option that there is not is refused with the nearest one of its level", async () => {
  for (const [options, sentence] of [
    [{ clok: "manual" }, "option clok is unknown; did you mean clock?"],
    [{ outbond: {} }, "option outbond is unknown; did you mean outbound?"],
    [
      { deployments: { concurency: 2 } },
      "option deployments.concurency is unknown; did you mean deployments.concurrency?",
    ],
    [{ deployments: { retension: "1d" } }, "option deployments.retension is unknown"],
    [
      { "deployments.concurrency": 1 },
      'option deployments.concurrency is unknown; nest it: {"deployments":{"concurrency":…}}',
    ],
    [{ colour: "blue" }, "option colour is unknown"],
  ] as const)
    await assert.rejects(createService(untyped(options)), { name: "BadOptions", message: sentence });
});

test("an invalid duration is refused by its value, and the clock does not move", async (t) => {
  const { service } = await world(t);
  const text = (shown: string) => ({ name: "TypeError", message: new RegExp(`^${shown} is not a duration such as`) });
  for (const [by, shown] of [
    [undefined, "undefined"],
    [null, "null"],
    [-5000, "-5000"],
    [{}, "\\[object Object\\]"],
    ["soon", '"soon"'],
  ] as const) {
    await assert.rejects(service.clock.advance(untyped(by)), text(shown));
    if (by !== undefined) await assert.rejects(service.webhooks.waitFor("*", { timeout: untyped(by) }), text(shown));
  }
  assert.equal(service.clock.now().toISOString(), start);
});

test("a sink that is no function is refused", async (t) => {
  const { webhooks } = (await world(t)).service;
  for (const wrong of [undefined, null, "ok", new Response()])
    assert.throws(() => webhooks.sink("hook", untyped(wrong)), { code: "validation_failed", message: /^answer / });
});

test("a service that is closed settles nothing", async (t) => {
  const { service } = await world(t);
  await service.close();
  await assert.rejects(service.settle(), { message: "the service is closed; make a new one" });
});

test("forkTestService without a service says what is missing", async (t) => {
  await assert.rejects(forkTestService(t, untyped(undefined)), {
    name: "TypeError",
    message: "pass the service to fork: forkTestService(t, service)",
  });
});

test("waitUntilDone on a manual clock that is not advanced fails with the reason", async (t) => {
  const here = await world(t);
  const { id } = await here.deploy((await here.project()).id);
  mockTime(t, { apis: ["setTimeout"] });
  const client = here.service.client({ apiKey: keyOf("owner") });
  const overFetch = createClient({
    ...{ baseUrl: "http://localhost/v1", apiKey: keyOf("owner") },
    fetch: here.service.fetch,
  });
  for (const [{ waitUntilDone }, ticks] of [
    [client, [2_000]],
    [overFetch, [2_000, 250, 2_000]],
  ] as const) {
    const waiting = assert.rejects(waitUntilDone("deployments", id), {
      ...{ name: "ClientProblem", code: "timed_out" },
      message: `it is queued; ${manualClockHint(start)}`,
    });
    for (const ms of ticks) {
      await turns(here);
      t.mock.timers.tick(ms);
    }
    await waiting;
  }
  // The client waits as long as the clock moves now and then.
  const patient = client.waitUntilDone("deployments", id);
  for (let i = 0; i < 3; i++) {
    await turns(here);
    t.mock.timers.tick(1_999);
    await here.service.clock.advance("1s");
    t.mock.timers.tick(1);
  }
  await turns(here);
  await here.service.clock.advance("10s");
  assert.equal((await patient).status, "active");
});

test("work that a tester moves under a standing clock is waited for", async (t) => {
  const here = await world(t);
  await here.service.scenarios.next("deployment", { pace: "manual" });
  const { id } = await here.deploy((await here.project()).id);
  mockTime(t, { apis: ["setTimeout"] });
  const waiting = here.service.client({ apiKey: keyOf("owner") }).waitUntilDone("deployments", id);
  for (let i = 0; i < 2; i++) {
    await turns(here);
    t.mock.timers.tick(1_999);
    await here.service.deployments.step(id);
    t.mock.timers.tick(1);
  }
  await turns(here);
  await here.service.deployments.step(id);
  assert.equal((await waiting).status, "active");
});

test("a time-out bounds the wait, as a signal does, whichever is first", async (t) => {
  const here = await world(t);
  const { id } = await here.deploy((await here.project()).id);
  const { waitUntilDone } = here.service.client({ apiKey: keyOf("owner") });
  const late = { name: "ClientProblem", code: "timed_out", message: "the work had not ended after 5 ms" };
  await assert.rejects(waitUntilDone("deployments", id, { timeout: 5 }), late);
  const control = new AbortController();
  await assert.rejects(waitUntilDone("deployments", id, { timeout: 5, signal: control.signal }), late);
  const waiting = waitUntilDone("deployments", id, { timeout: 60_000, signal: control.signal });
  control.abort(new Error("enough"));
  await assert.rejects(waiting, { message: "enough" });
  for (const timeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, untyped("5s")])
    await assert.rejects(waitUntilDone("deployments", id, { timeout }), TypeError, String(timeout));
  await here.service.clock.advance("1m");
  assert.equal((await waitUntilDone("deployments", id, { timeout: 60_000 })).status, "active");
});

test("what never ends is not waited for", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const { waitUntilDone } = here.service.client({ apiKey: keyOf("owner") });
  for (const feature of ["projects", "users", "nothing", undefined])
    await assert.rejects(waitUntilDone(untyped(feature), id), {
      name: "TypeError",
      message: `waitUntilDone works only for deployments and generations, not for ${feature}`,
    });
});
