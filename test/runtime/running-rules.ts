import assert from "node:assert/strict";
import type { Runtime } from "../../lib/drivers/deployment/contract.ts";
import {
  advance,
  appOf,
  ask,
  deploy,
  done,
  idOf,
  kept,
  listen,
  rolloutOf,
  wayIn,
  workOf,
} from "../helpers/driver-steps.ts";
import type { Rule } from "./member.ts";

/** Rules for drivers whose releases keep running. */
export const runningRules: readonly Rule[] = [
  [
    "an abort ends a build at once and leaves nothing, however often it comes",
    ["buildHangs"],
    async ({ driver, runtime, member, of }) => {
      await runtime.abandon(idOf(9));
      const work = workOf(idOf(1), of("buildHangs"));
      await advance(driver, work, "begun");
      assert.notDeepEqual(await member.traces(idOf(1)), []);
      const asked = driver.step(work);
      await Promise.all([runtime.abandon(idOf(1)), runtime.abandon(idOf(1))]);
      assert.notEqual((await asked).state, "done");
      assert.deepEqual(await member.traces(idOf(1)), []);
    },
  ],
  [
    "an abort ends a rollout, before the app is healthy and after it",
    ["startHangs", "works"],
    async ({ driver, runtime, member, of }) => {
      for (const [id, kind] of [
        [idOf(1), "startHangs"],
        [idOf(2), "works"],
      ] as const) {
        const work = workOf(id, of(kind));
        const rollout = rolloutOf(work, done(await advance(driver, work)));
        if (kind === "works") done(await advance(driver, rollout));
        else assert.equal((await driver.step(rollout)).state, "running");
        await runtime.abandon(id);
        assert.equal(runtime.take(id), undefined);
        assert.deepEqual(await member.traces(id), []);
      }
    },
  ],
  [
    "a release starts beside itself, takes over without losing a request, comes back after a crash, and stops",
    ["works"],
    async ({ driver, runtime, member, t, of }) => {
      const rollout = await deploy(driver, workOf(idOf(1), of("works")));
      const live = runtime.take(idOf(1));
      const beside = await runtime.start(appOf(rollout));
      assert.ok(live?.port && beside.port && live.port !== beside.port);
      const { proxy, port } = await wayIn(t);
      proxy.setHosts("web", ["web.test"]);
      await proxy.route("web", live);
      const printed = listen(live);
      assert.equal(await printed(/^listening/), "listening as one");
      const slow = ask(port, "/slow", "GET", "web.test");
      await printed(/^slow$/);
      // The switch: the old instance finishes its request, and the new one gets all others.
      const drained = proxy.route("web", beside);
      assert.equal(await ask(port, "/", "GET", "web.test"), "one");
      const old = live.port;
      assert.equal(await ask(old), "one");
      assert.equal(await slow, "one");
      await drained;
      await Promise.all([live.stop(5_000), live.stop(5_000)]);
      assert.deepEqual([live.port, await live.up(1), await ask(old)], [undefined, false, "ECONNREFUSED"]);

      const crashed = listen(beside);
      assert.match(await ask(beside.port, "/crash", "POST"), /ECONN|hang up/);
      await crashed(/exit code 3/);
      assert.equal(await beside.up(60_000), true);
      assert.equal(await ask(beside.port), "one");
      await beside.stop(5_000);
      await runtime.discard(rollout.release ?? "");
      await runtime.abandon(idOf(1));
      assert.deepEqual(await member.traces(idOf(1)), []);
    },
  ],
  [
    "after a restart the live release comes back, an interrupted build is done again, and the rest is gone",
    ["works", "buildHangs"],
    async ({ driver, runtime, member, t, of }) => {
      const rollout = await deploy(driver, workOf(idOf(1), of("works")));
      await advance(driver, workOf(idOf(2), of("buildHangs")), "begun");
      await member.source("works", "two");
      const asked = driver.step(workOf(idOf(2), of("buildHangs")));
      await runtime.close(Promise.resolve());
      assert.equal((await asked).state, "running");

      const next = member.open();
      t.after(() => next.runtime?.close(Promise.resolve()));
      const again = next.runtime as Runtime;
      await again.begin({ ...kept, release: async (name) => name === rollout.release });
      assert.deepEqual(await member.traces(idOf(2)), []);
      const instance = await again.start(appOf(rollout));
      assert.equal(await ask(instance.port), "one");
      const redone = await deploy(next, workOf(idOf(2), of("works")));
      assert.equal(await ask(again.take(idOf(2))?.port), "two");

      // A rollback runs the stored release; if it is gone, it is rebuilt from its pin.
      const { version, pin, release } = rollout;
      const back = { ...workOf(idOf(3), of("works")), version, pin, release };
      assert.equal(done(await advance(next, back)).release, release);
      await instance.stop(5_000);
      await again.discard(release ?? "");
      await deploy(next, { ...back, deployment_id: idOf(4) });
      assert.equal(await ask(again.take(idOf(4))?.port), "one");
      assert.notEqual(redone.pin, pin);

      await again.close(Promise.resolve());
      const last = member.open();
      await last.runtime?.begin({
        release: async () => false,
        project: async () => false,
        live: async () => undefined,
        warn: () => {},
      });
      for (const number of [1, 2, 3, 4]) assert.deepEqual(await member.traces(idOf(number)), []);
      await last.runtime?.close(Promise.resolve());
    },
  ],
];
