import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestService } from "../../lib/testing.ts";
import { coupled, deployer, secondsOf } from "../helpers/coupled.ts";

test("advanceUntil gives the result at the very time, and a rejection as it is", async (t) => {
  const { service, deploy } = await coupled(t);
  const { deployments } = service.client();
  const poll = async () => {
    const { id } = await deploy();
    for (let tries = 0; tries < 100; tries++) {
      const { status } = await deployments.get({ id });
      if (status === "active") return status;
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    return "never";
  };
  assert.equal(await service.clock.advanceUntil(poll()), "active");
  assert.equal(secondsOf(service), 6);
  const failing = new Promise((_, reject) => setTimeout(() => reject(new RangeError("gave up")), 500));
  await assert.rejects(service.clock.advanceUntil(failing), { name: "RangeError", message: "gave up" });
  assert.equal(secondsOf(service), 6.5);
  assert.equal(await service.clock.advanceUntil(Promise.resolve(5)), 5);
  assert.equal(secondsOf(service), 6.5);
});

test("code that calls without a pause gets its time", async (t) => {
  const { service, deploy } = await coupled(t, { rateLimit: 0 });
  const { id } = await deploy();
  const { deployments } = service.client();
  const poll = async (): Promise<number> =>
    (await deployments.get({ id })).status === "active" ? secondsOf(service) : poll();
  assert.equal(await service.clock.advanceUntil(poll(), { most: "1m" }), 6);
});

test("past most, advanceUntil names what was still due", async (t) => {
  const { service, deploy } = await coupled(t);
  await service.scenarios.add({ match: {}, outcome: { durations: { building: "2h" } } });
  const { id } = await deploy();
  const never = new Promise(() => {});
  const poll = () => {};
  const interval = setInterval(poll, 60_000);
  await assert.rejects(service.clock.advanceUntil(never, { most: "1h" }), ({ message }: Error) => {
    assert.match(
      message,
      /^advanceUntil: the promise has not settled by 2026-01-01T01:00:00\.000Z, after 1h; still due: /,
    );
    assert.match(
      message,
      /setInterval\(poll, 60000\) of the code at 2026-01-01T01:01:00\.000Z set at .*advance-until\.test/,
    );
    assert.ok(message.includes(`deployments.advance ${id} at 2026-01-01T02:00:01.000Z`), message);
    return true;
  });
  clearInterval(interval);
  await service.clock.advance("2h");
  await assert.rejects(
    service.clock.advanceUntil(never, { step: 500, most: 1_000 }),
    /after 1s; nothing is due any more: does it wait for the network \(give the code service\.fetch instead\)\?$/,
  );
});

test("without coupled timers, advanceUntil moves by steps", async (t) => {
  const service = await createTestService(t);
  const deploy = await deployer(service);
  const { id } = await deploy();
  const done = await service.clock.advanceUntil(service.client().deployments.waitUntilDone(id));
  assert.deepEqual([done.status, secondsOf(service)], ["active", 6]);
  let hasEnded = () => {};
  const ended = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });
  const look = () => (secondsOf(service) >= 100 ? hasEnded() : setImmediate(look));
  look();
  await service.clock.advanceUntil(ended, { step: "7s" });
  assert.equal(secondsOf(service), 104);
  await assert.rejects(
    service.clock.advanceUntil(new Promise(() => {})),
    /after 1d; nothing is due any more: .*, or for timers of the code, which the option timers couples with this clock\?/,
  );
});

test("advanceUntil without a step takes one that fits into a short most", async (t) => {
  const service = await createTestService(t);
  const never = new Promise(() => {});
  await assert.rejects(service.clock.advanceUntil(never, { most: "500ms" }), /has not settled by .*, after 500ms; /);
  assert.equal(secondsOf(service), 0.5);
  await assert.rejects(service.clock.advanceUntil(never, { most: 0 }), {
    name: "TypeError",
    message: "most must be longer than 0",
  });
});

test("advanceUntil refuses what cannot work", async (t) => {
  const { clock } = await createTestService(t);
  const never = new Promise(() => {});
  const refused = (message: RegExp) => ({ name: "TypeError", message });
  for (const wrong of [undefined, 5, () => never, {}])
    await assert.rejects(clock.advanceUntil(wrong as never), refused(/^advanceUntil takes a promise/));
  await assert.rejects(
    clock.advanceUntil(never, { step: "2s", most: "1s" }),
    refused(/most \(1s\) must not be less than/),
  );
  for (const step of ["1s", 501])
    await assert.rejects(
      clock.advanceUntil(never, { step, most: "500ms" }),
      refused(/most \(500ms\) must not be less/),
    );
  await assert.rejects(clock.advanceUntil(never, { step: 0 }), refused(/step must be longer than 0/));
  for (const wrong of ["soon", -1, Number.NaN, null])
    await assert.rejects(clock.advanceUntil(never, { step: wrong as never }), refused(/is not a duration/));
  await assert.rejects(clock.advanceUntil(never, { until: "1s" } as never), { code: "validation_failed" });
  const real = await createTestService(t, { clock: "real" });
  await assert.rejects(real.clock.advanceUntil(never), /only a manual clock can be moved/);
});
