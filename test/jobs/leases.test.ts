import assert from "node:assert/strict";
import { test } from "node:test";
import { done, snooze } from "../../lib/kernel/job.ts";
import type { Tx } from "../../lib/kernel/transaction-hooks.ts";
import { blocker } from "../helpers/deployments.ts";
import { startRunner } from "../helpers/job-runner.ts";

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
      return time === 1 ? done(write) : snooze(60_000, write);
    });
    await add("a");
    const [slow, fast] = [process("slow"), process("fast")];
    const [lost] = await slow.claim();
    assert.ok(lost);
    const answer = slow.run(lost);
    await entered.passed;
    clock.moveTo(clock.now() + 60_000);
    await fast.keepAlive();
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
      await other.keepAlive();
      assert.deepEqual(await other.claim(), []);
    }
    await busy.run(row);
    assert.equal(await busy.next(), undefined);
  });

  await t.test(
    "a job that was running at ten crashes in a row waits, then runs beside others, but no suspect",
    async (t) => {
      const { add, clock, runner } = startRunner(t, () => done());
      for (const name of ["a", "b"]) await add(name);
      for (let crash = 1; crash <= 10; crash++) {
        assert.equal((await runner.claim()).length, 2);
        await runner.reclaim();
      }
      assert.deepEqual(await runner.claim(), []);
      clock.moveTo(clock.now() + 1_000);
      await add("c");
      const claim = async (suspectRuns: boolean) =>
        (await runner.claim(suspectRuns)).map(({ args, crashes }) => `${JSON.parse(args).name} ${crashes}`);
      assert.deepEqual(await claim(false), ["a 10"]);
      assert.equal(await runner.next("ordinary"), clock.now());
      assert.deepEqual(await claim(true), ["c 0"]);
      assert.deepEqual(await claim(true), []);
      assert.deepEqual(await claim(false), ["b 10"]);
    },
  );

  await t.test("a suspect that waited while the process ended is a suspect no more", async (t) => {
    const { add, clock, runner } = startRunner(t, () => done());
    await add("a");
    for (let crash = 1; crash <= 10; crash++) {
      await runner.claim();
      await runner.reclaim();
    }
    await add("b");
    assert.equal((await runner.claim()).length, 1);
    await runner.reclaim();
    clock.moveTo(clock.now() + 1_000);
    assert.deepEqual(
      (await runner.claim()).map(({ args, crashes }) => `${JSON.parse(args).name} ${crashes}`),
      ["b 1", "a 0"],
    );
  });

  await t.test("jobs that crash their process fifteen times are given up, one after the other", async (t) => {
    const { add, clock, process, runs } = startRunner(t, () => done());
    for (const name of ["a", "b"]) await add(name);
    let deaths = 0;
    for (let isAlive = false; !isAlive; deaths++) {
      const doomed = process(`life ${deaths}`);
      await doomed.reclaim();
      for (let hasDied = false; !hasDied; ) {
        const due = await doomed.next();
        isAlive = due === undefined;
        if (due === undefined) break;
        clock.moveTo(Math.max(due, clock.now()));
        const claimed = await doomed.claim();
        if (deaths < 10) assert.equal(claimed.length, 2);
        for (const row of claimed.filter(({ crashes }) => crashes >= 15)) await doomed.run(row);
        hasDied = claimed.some(({ crashes }) => crashes < 15);
      }
    }
    assert.deepEqual(
      runs.map((line) => line.replace(/ at \d+s/, "")),
      ["a given up: worker_crashed", "b given up: worker_crashed"],
    );
    assert.equal(deaths, 10 + 5 + 5 + 1);
  });
});
