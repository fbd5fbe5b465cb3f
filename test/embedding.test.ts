import assert from "node:assert/strict";
import { test } from "node:test";
import { createService } from "../lib/index.ts";
import { forkTestService } from "../lib/testing.ts";
import { start, world } from "./world.ts";

/** What JavaScript hands in although the types say otherwise. */
// biome-ignore lint/suspicious/noExplicitAny: the types would not let it pass
const untyped = (value: unknown): any => value;

test("an option that there is not is refused with the nearest one of its level", async () => {
  for (const [options, sentence] of [
    [{ clok: "manual" }, "option clok is not known here; did you mean clock?"],
    [{ outbond: {} }, "option outbond is not known here; did you mean outbound?"],
    [
      { deployments: { concurency: 2 } },
      "option deployments.concurency is not known here; did you mean deployments.concurrency?",
    ],
    [{ deployments: { retension: "1d" } }, "option deployments.retension is not known here"],
    [{ colour: "blue" }, "option colour is not known here"],
  ] as const)
    await assert.rejects(createService(untyped(options)), { name: "BadOptions", message: sentence });
});

test("a duration that is none is refused by what it is, and the clock stays where it was", async (t) => {
  const { service } = await world(t);
  const text = (shown: string) => ({ name: "TypeError", message: new RegExp(`^${shown} is not a duration such as`) });
  for (const [by, shown] of [
    [undefined, "undefined"],
    [null, "null"],
    [5000, "5000"],
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

test("a fork of nothing says what is missing", async (t) => {
  await assert.rejects(forkTestService(t, untyped(undefined)), {
    name: "TypeError",
    message: "hand in the service to fork: forkTestService(t, service)",
  });
});
