import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { done, type Lease, type Outcome, snooze } from "../../lib/kernel/job.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import type { Tx } from "../../lib/kernel/transaction-hooks.ts";
import { blocker } from "../helpers/deployments.ts";
import { startRunner } from "../helpers/job-runner.ts";
import { mockTime } from "../helpers/mock-time.ts";

test("a claim is a lease, and the attempt is the fence", async (t) => {
  await t.test("the attempt is counted when the job is claimed, before it runs", async (t) => {
    const { add, runner, runs } = startRunner(t, () => done());
    await add("a");
    const [row] = await runner.claim();
    assert.deepEqual([row?.attempt, row?.state, row?.lease_owner], [1, "running", "one"]);
    assert.equal(row?.lease_until, "2026-01-01T00:01:00.000Z");
    assert.deepEqual(runs, []);
  });

  await t.test("a claimed job is not claimed again", async (t) => {
    const { add, process } = startRunner(t, () => done());
    await add("a");
    const [one, two] = await Promise.all([process("one").claim(), process("two").claim()]);
    assert.equal(one.length + two.length, 1);
  });

  await t.test("a late answer of a process that lost its lease changes nothing", async (t) => {
    const entered = blocker();
    const finish = blocker();
    const written: number[] = [];
    const { add, clock, process, runs, rows } = startRunner(t, async (_, time) => {
      if (time === 1) {
        entered.open();
        await finish.passed;
      }
      const write = async (tx: Tx) => tx.afterCommit(() => written.push(time));
      return time === 1 ? done(write, "rows") : snooze(60_000, write, "rows");
    });
    await add("a");
    const [slow, fast] = [process("slow"), process("fast")];
    const [lost] = await slow.claim();
    assert.ok(lost);
    const answer = slow.run(lost);
    await entered.passed;
    clock.moveTo(clock.now() + 60_000);
    await fast.rescue();
    const [taken] = await fast.claim();
    assert.ok(taken);
    assert.deepEqual([taken.id, taken.attempt, taken.crashes], [lost.id, 2, 1]);
    await fast.run(taken);
    finish.open();
    await answer;
    assert.deepEqual(written, [2]);
    assert.deepEqual(runs, ["a at 0s", "a at 60s"]);
    assert.equal((await rows().next({}))?.run_at, "2026-01-01T00:02:00.000Z");
  });

  await t.test("a job sees that its lease is lost, by the time and by what another process did", async (t) => {
    const entered = blocker();
    const ends = [blocker(), blocker()];
    const leases: Lease[] = [];
    const { add, clock, process } = startRunner(t, async (_, time, lease) => {
      leases.push(lease);
      entered.open();
      await ends[time - 1]?.passed;
      return done();
    });
    const isHeld = () => leases.map((lease) => lease.isHeld());
    await add("a");
    const [stopped, other] = [process("stopped"), process("other")];
    const [row] = await stopped.claim();
    assert.ok(row);
    const first = stopped.run(row);
    await entered.passed;
    clock.moveTo(clock.now() + 50_000);
    assert.deepEqual(isHeld(), [true]);
    await stopped.keepAlive();
    clock.moveTo(clock.now() + 50_000);
    assert.deepEqual(isHeld(), [true]);
    clock.moveTo(clock.now() + 10_000);
    assert.deepEqual(isHeld(), [false], "before it asks the database");
    await stopped.keepAlive();
    assert.deepEqual(isHeld(), [true], "no other process took it");
    clock.moveTo(clock.now() + 60_000);
    await other.rescue();
    const [again] = await stopped.claim();
    assert.ok(again);
    const second = stopped.run(again);
    await stopped.keepAlive();
    assert.deepEqual(isHeld(), [false, true], "the same process has claimed it anew");
    ends[0]?.open();
    await first;
    assert.deepEqual(isHeld(), [false, true], "the end of the first run leaves the second its lease");
    ends[1]?.open();
    await second;
    assert.deepEqual(isHeld(), [false, false]);
  });

  await t.test("of jobs that end at the same moment, only the one with a lost lease stays", async (t) => {
    const { add, runner, runs } = startRunner(t, () => done());
    for (const name of ["a", "b", "c"]) await add(name);
    const claimed = await runner.claim();
    await Promise.all(claimed.map((row, i) => runner.run(i === 1 ? { ...row, attempt: 0 } : row)));
    assert.equal(await runner.next(), undefined);
    await runner.release();
    const left = await runner.claim();
    assert.deepEqual([left.map(({ id }) => id), runs.length], [[claimed[1]?.id], 3]);
  });

  await t.test("a process that renews its lease keeps its work", async (t) => {
    const { add, clock, process } = startRunner(t, () => done());
    await add("a");
    const [busy, other] = [process("busy"), process("other")];
    const [row] = await busy.claim();
    assert.ok(row);
    for (let beat = 0; beat < 10; beat++) {
      clock.moveTo(clock.now() + 50_000);
      await busy.keepAlive();
      await other.rescue();
      assert.deepEqual(await other.claim(), []);
    }
    await busy.run(row);
    assert.equal(await busy.next(), undefined);
  });
});

/** Processes that are killed one after the other, each while its jobs still run. */
function killedProcesses(t: TestContext) {
  mockTime(t, { apis: ["setTimeout"] });
  const { add, clock, process, runs } = startRunner(t, () => new Promise<Outcome>(() => {}));
  const pass = async (until: number) => {
    t.mock.timers.tick(until - clock.now());
    clock.moveTo(until);
    // Transactions take some turns of the event loop.
    for (let turn = 0; turn < 10; turn++) await new Promise((next) => setImmediate(next));
  };
  let lives = 0;
  return {
    add,
    /**
     * Runs a process for `lasts` milliseconds, or for that long after the job `deadly` began. Returns when each job
     * began.
     */
    async life({ lasts = 60_000, deadly = "" }): Promise<Record<string, number>> {
      const own = process(`life ${lives++}`);
      await own.reclaim();
      const [begun, began] = [clock.now(), {} as Record<string, number>];
      const end = () => (deadly in began ? begun + (began[deadly] ?? 0) + lasts : begun + (deadly ? 60_000 : lasts));
      for (let at = await own.next(); at !== undefined && at <= end(); at = await own.next()) {
        await pass(Math.max(at, clock.now()));
        for (const row of await own.claim()) {
          began[JSON.parse(row.args).name] = clock.now() - begun;
          void own.run(row);
        }
        await pass(clock.now());
      }
      await pass(end());
      return began;
    },
    givenUp: () => runs.filter((line) => line.includes("given up")).map((line) => line.replace(/ at [\d.]+s/, "")),
  };
}

test("jobs that an end of the process cut off", async (t) => {
  await t.test(
    "one that crashes its process at once is given up after ten ends; those beside it are not",
    async (t) => {
      const { add, life, givenUp } = killedProcesses(t);
      for (const name of ["a", "deadly", "b"]) await add(name);
      const holds = new Set<number | undefined>();
      for (let end = 1; end <= 10; end++) {
        assert.deepEqual(givenUp(), []);
        holds.add((await life({ deadly: "deadly", lasts: 20 })).deadly);
      }
      assert.ok(holds.size > 2 && Math.max(...[...holds].map(Number)) <= 750, [...holds].join());
      const { a, b } = await life({});
      assert.ok(Number(a) <= 750 && Number(b) <= 750);
      assert.deepEqual(givenUp(), ["deadly given up: worker_crashed"]);
    },
  );

  await t.test(
    "one that is cut off by kills of the service begins soon after each start, and is not given up",
    async (t) => {
      const random = createRandom("kills");
      for (const longest of [300, 1000, 3000, 30_000]) {
        const { add, life, givenUp } = killedProcesses(t);
        await add("innocent");
        for (let kill = 0; kill < 40; kill++) {
          const lasts = random.fraction() * longest;
          const { innocent = lasts } = await life({ lasts });
          assert.ok(innocent <= 750, `it began after ${innocent} ms`);
        }
        assert.deepEqual(givenUp(), []);
        t.mock.timers.reset();
      }
    },
  );

  await t.test("one that crashes its process after some time is given up after fifty ends", async (t) => {
    const { add, life, givenUp } = killedProcesses(t);
    await add("slow");
    for (let end = 1; end <= 50; end++) {
      assert.ok(Number((await life({ deadly: "slow", lasts: 5000 })).slow) <= 750);
      assert.deepEqual(givenUp(), []);
    }
    await life({});
    assert.deepEqual(givenUp(), ["slow given up: worker_crashed"]);
  });
});
