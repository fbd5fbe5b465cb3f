import assert from "node:assert/strict";
import { pbkdf2 } from "node:crypto";
import { test } from "node:test";
import timersPromises from "node:timers/promises";
import { promisify } from "node:util";
import { createService } from "../../lib/index.ts";
import { createTestService, forkTestService } from "../../lib/testing.ts";
import { coupled, secondsOf, start } from "../helpers/coupled.ts";
import { withSnapshots } from "../helpers/engine.ts";

test("timers of the code and jobs of the service have one order: jobs first, then timers as they were set", async (t) => {
  const { service, deploy } = await coupled(t);
  const seen: string[] = [];
  const note = (what: string) => seen.push(`${secondsOf(service)} ${(Date.now() - start) / 1_000} ${what}`);
  service.webhooks.sink("hook", async (request) => {
    note(JSON.parse(await request.text()).event);
    return new Response();
  });
  await service.client().webhooks.create({ url: "https://hook.inbox.test", events: ["deployment.started"] });
  const { id } = await deploy();
  setTimeout(() => note("second"), 1_000);
  setTimeout(async () => {
    note("third");
    note((await service.client().deployments.get({ id })).status);
    setTimeout(() => note("a timer of a timer"), 500);
  }, 1_000);
  setTimeout(() => note("first"), 500);
  const cleared = setTimeout(() => note("never"), 700);
  clearTimeout(cleared);
  assert.equal((await service.clock.advance("2s")).now, "2026-01-01T00:00:02.000Z");
  assert.deepEqual(seen, [
    "0.5 0.5 first",
    "1 1 deployment.started",
    "1 1 second",
    "1 1 third",
    "1 1 building",
    "1.5 1.5 a timer of a timer",
  ]);
  assert.equal(Date.now(), service.clock.now().getTime());
});

test("intervals, immediates, promises of timers and promisified ones are met", async (t) => {
  const { service } = await coupled(t);
  const seen: string[] = [];
  const note = (what: string) => seen.push(`${secondsOf(service)} ${what}`);
  const interval = setInterval(() => {
    note("interval");
    if (secondsOf(service) === 2) clearInterval(interval);
  }, 1_000);
  setImmediate(() => note("immediate"));
  const code = async () => {
    await promisify(setTimeout)(250);
    note("promisified");
    await timersPromises.setTimeout(250);
    note("sleep");
    for await (const turn of timersPromises.setInterval(400, "turn")) {
      note(turn);
      if (secondsOf(service) > 1) break;
    }
    setTimeout(note, 2 ** 40, "too long is at once");
  };
  const done = code();
  await service.settle();
  assert.deepEqual(seen.splice(0), ["0 immediate"]);
  await service.clock.advance(5_000);
  await done;
  assert.deepEqual(seen, [
    "0.25 promisified",
    "0.5 sleep",
    "0.9 turn",
    "1 interval",
    "1.3 turn",
    "1.301 too long is at once",
    "2 interval",
  ]);
});

for (const [what, work] of [
  ["that sleeps with a timer of its own gets its time", async () => {}],
  [
    "that works for real before it sleeps gets its time too",
    () => promisify(pbkdf2)("a word", "salt", 200_000, 64, "sha512"),
  ],
] as const)
  test(`a receiver ${what}`, async (t) => {
    const { service, deploy } = await coupled(t);
    service.webhooks.sink("hook", async () => {
      await work();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return new Response();
    });
    await service.client().webhooks.create({ url: "https://hook.inbox.test", events: ["deployment.queued"] });
    await deploy();
    await service.clock.advance("1s");
    assert.equal(service.inbox.list()[0]?.response, 200);
    assert.equal(secondsOf(service), 1);
  });

test("jobs that fall due while a receiver sleeps run at their time", async (t) => {
  const { service, deploy } = await coupled(t);
  service.webhooks.sink("hook", async () => {
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    return new Response();
  });
  await service.client().webhooks.create({ url: "https://hook.inbox.test", events: ["deployment.queued"] });
  const { id } = await deploy();
  await service.clock.advance("10s");
  const { completed_at } = await service.client().deployments.get({ id });
  assert.equal(completed_at, "2026-01-01T00:00:06.000Z");
});

test("a call that waits for time gets it: a fault's delay, and a held request", async (t) => {
  const { service, deploy } = await coupled(t);
  const { id } = await deploy();
  service.faults.add({ match: { path: "/v1/me" }, respond: { delay: "3s" } });
  const me = service
    .client()
    .me.get()
    .then(() => secondsOf(service));
  const waiting = service
    .client()
    .deployments.waitUntilDone(id)
    .then(() => secondsOf(service));
  await service.clock.advance("1m");
  assert.deepEqual([await me, await waiting], [3, 6]);
});

test("an error that a timer throws reaches the call that moved the clock", async (t) => {
  const { service } = await coupled(t);
  setTimeout(() => {
    throw new RangeError("too far");
  }, 1_000);
  await assert.rejects(service.clock.advance("2s"), { name: "RangeError", message: "too far" });
  await service.clock.advance("2s");
});

test("advanceToNext stops at timers too, and runUntilIdle ends when the service is idle", async (t) => {
  const { service, deploy } = await coupled(t);
  setInterval(() => {}, 700);
  await deploy();
  const times: number[] = [];
  for (let i = 0; i < 3; i++) {
    await service.clock.advanceToNext();
    times.push(secondsOf(service));
  }
  assert.deepEqual(times, [0.7, 1, 1.4]);
  await service.clock.runUntilIdle();
  assert.equal(secondsOf(service), 6);
});

test("timers that cannot be coupled are refused with the reason", async (t) => {
  const real = /^Error: the timers are real: call vi\.useFakeTimers\(\), .* before the service is created with timers$/;
  await assert.rejects(createTestService(t, { timers: t.mock.timers }), real);
  for (const wrong of [5, {}, null, "vi", t.mock])
    await assert.rejects(createTestService(t, { timers: wrong as never }), {
      name: "BadOptions",
      message: /^option timers must be what moves the fake timers: vi of Vitest, jest of Jest, or t\.mock\.timers/,
    });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const other = { advanceTimersByTimeAsync: async () => {} };
  await assert.rejects(
    createTestService(t, { timers: other }),
    /are not those that were passed: pass the object of this/,
  );
  await assert.rejects(createTestService(t, { timers: t.mock.timers, clock: "60x" }), {
    message: 'option timers move with a manual clock only: add clock: "manual"',
  });
  const first = await createTestService(t, { timers: t.mock.timers });
  const second = /move with another service already: close that service first/;
  await assert.rejects(createTestService(t, { timers: t.mock.timers }), second);
  await first.close();
  const next = await createTestService(t, { timers: t.mock.timers });
  t.mock.timers.reset();
  await assert.rejects(next.clock.advance("1s"), /were made real again; do that only once the service is closed/);
});

test("timers set without end at one instant are named", async (t) => {
  const { service } = await coupled(t);
  const again = () => void setImmediate(again);
  again();
  await assert.rejects(
    service.settle(),
    /^Error: at 2026-01-01T00:00:00\.000Z, timers are set for this instant without end: setImmediate\(again\) of the/,
  );
});

test("the time of a service that is closed moves no timer, and the fake functions are given back", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const fake = globalThis.setTimeout;
  const service = await createService({ clock: "manual", timers: t.mock.timers });
  assert.notEqual(globalThis.setTimeout, fake);
  await service.close();
  assert.equal(globalThis.setTimeout, fake);
});

test("a fork moves the timers if it gets them, and a restored clock is shown", withSnapshots, async (t) => {
  const base = await createTestService(t);
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const fork = await forkTestService(t, base, { timers: t.mock.timers });
  const { id } = await fork.snapshot();
  let ran = 0;
  setTimeout(() => {
    ran += 1;
  }, 1_000);
  await base.clock.advance("2s");
  assert.equal(ran, 0);
  await fork.clock.advance("2s");
  assert.equal(ran, 1);
  await fork.restore(id);
  await fork.settle();
  assert.equal(Date.now(), start);
});
