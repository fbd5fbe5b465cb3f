import assert from "node:assert/strict";
import { test } from "node:test";
import { done, snooze } from "../../lib/kernel/job.ts";
import { machinery } from "../machinery.ts";
import { gate } from "../stories.ts";

test("a claim is a lease, and the attempt is the fence", async (t) => {
  await t.test("the attempt is counted when the job is claimed, before it runs", async (t) => {
    const { add, runner, told } = machinery(t, () => done());
    await add("a");
    const [row] = await runner.claim();
    assert.deepEqual([row?.attempt, row?.state, row?.lease_owner], [1, "running", "one"]);
    assert.equal(row?.lease_until, "2026-01-01T00:01:00.000Z");
    assert.deepEqual(told, []);
  });

  await t.test("a claimed job is not claimed again", async (t) => {
    const { add, process } = machinery(t, () => done());
    await add("a");
    const [one, two] = await Promise.all([process("one").claim(), process("two").claim()]);
    assert.equal(one.length + two.length, 1);
  });

  await t.test("a late answer of a process that lost its lease changes nothing", async (t) => {
    const entered = gate();
    const finish = gate();
    const written: number[] = [];
    const { add, clock, process, told, rows } = machinery(t, async (_, time) => {
      if (time === 1) {
        entered.open();
        await finish.passed;
      }
      return time === 1 ? done(async () => void written.push(1)) : snooze(60_000, async () => void written.push(time));
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
    assert.deepEqual(told, ["a at 0s", "a at 60s"]);
    assert.equal((await rows().next({}))?.run_at, "2026-01-01T00:02:00.000Z");
  });

  await t.test("of jobs that end at the same moment, only the one with a lost lease stays", async (t) => {
    const { add, runner, told } = machinery(t, () => done());
    for (const name of ["a", "b", "c"]) await add(name);
    const claimed = await runner.claim();
    await Promise.all(claimed.map((row, i) => runner.run(i === 1 ? { ...row, attempt: 0 } : row)));
    assert.equal(await runner.next(), undefined);
    await runner.release();
    const left = await runner.claim();
    assert.deepEqual([left.map(({ id }) => id), told.length], [[claimed[1]?.id], 3]);
  });

  await t.test("a process that renews its lease keeps its work", async (t) => {
    const { add, clock, process } = machinery(t, () => done());
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

  await t.test("a job that crashed its process twice is claimed alone, while no other job runs", async (t) => {
    const { add, clock, runner } = machinery(t, () => done());
    await add("a");
    for (let crash = 1; crash <= 2; crash++) {
      await runner.claim();
      await runner.reclaim();
    }
    clock.moveTo(clock.now() + 1);
    for (const name of ["b", "c"]) await add(name);
    const claim = async (alone: boolean) =>
      (await runner.claim(alone)).map(({ args, crashes }) => `${JSON.parse(args).name} ${crashes}`);
    assert.deepEqual(await claim(true), ["a 2"]);
    await runner.release();
    assert.deepEqual(await claim(false), ["b 0", "c 0"]);
    assert.deepEqual(await claim(false), []);
    assert.deepEqual(await claim(true), ["a 2"]);
  });

  await t.test("a job that crashes its process three times is given up", async (t) => {
    const { add, process, told } = machinery(t, () => done());
    await add("a");
    for (let life = 1; life <= 3; life++) {
      const doomed = process(`life ${life}`);
      await doomed.reclaim();
      const [row] = await doomed.claim();
      assert.deepEqual([row?.attempt, row?.crashes], [life, life - 1]);
    }
    const last = process("last");
    await last.reclaim();
    const [row] = await last.claim();
    assert.ok(row);
    await last.run(row);
    assert.deepEqual(told, ["a given up at 0s: worker_crashed"]);
    assert.equal(await last.next(), undefined);
  });
});
