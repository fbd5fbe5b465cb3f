import assert from "node:assert/strict";
import { test } from "node:test";
import { discard, done, snooze } from "../../lib/kernel/job.ts";
import fc from "../helpers/fast-check.ts";
import { startRunner } from "../helpers/job-runner.ts";

test("jobs run in the order of due time, then of id", async (t) => {
  await t.test("in whatever order they were added", async (t) => {
    const waits = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 60 });
    const property = fc.asyncProperty(waits, async (seconds) => {
      const { add, advance, runs } = startRunner(t, () => done());
      for (const [i, wait] of seconds.entries()) await add(`${i}`, wait * 1000);
      await advance(10_000);
      const order = seconds.map((wait, i) => ({ wait, i })).sort((a, b) => a.wait - b.wait || a.i - b.i);
      assert.deepEqual(
        runs,
        order.map(({ wait, i }) => `${i} at ${wait}s`),
      );
    });
    await fc.assert(property, { numRuns: 25, seed: 20260101 });
  });

  await t.test("a job that another one adds for the same instant runs in the same step", async (t) => {
    const { add, advance, loop, runs } = startRunner(t, async (name) => {
      if (name === "first") await add("second");
      return done();
    });
    await add("first");
    assert.equal(await loop.settle(), 2);
    assert.deepEqual(runs, ["first at 0s", "second at 0s"]);
    assert.equal(await advance(1000), 0);
  });

  await t.test("settle does not run jobs that are due later", async (t) => {
    const { add, loop, runs, advance } = startRunner(t, () => done());
    await add("later", 1);
    assert.equal(await loop.settle(), 0);
    assert.deepEqual(runs, []);
    assert.equal(await advance(1), 1);
  });

  await t.test("two concurrent advances run no job twice", async (t) => {
    const { add, clock, loop, runs } = startRunner(t, () => done());
    for (const name of ["a", "b", "c"]) await add(name, 1000);
    const to = clock.now() + 2000;
    const ran = await Promise.all([loop.advance(() => to), loop.advance(() => to), loop.settle()]);
    assert.equal(
      ran.reduce((sum, one) => sum + one),
      3,
    );
    assert.deepEqual(runs, ["a at 1s", "b at 1s", "c at 1s"]);
  });

  await t.test("the clock never goes back", async (t) => {
    const { clock, loop } = startRunner(t, () => done());
    await assert.rejects(
      loop.advance(() => clock.now() - 1),
      /never goes back/,
    );
  });
});

test("the outcomes of a job", async (t) => {
  await t.test("done and discarded jobs are removed", async (t) => {
    const { add, advance, runner, runs } = startRunner(t, (name) => (name === "a" ? done() : discard("no longer")));
    await add("a");
    await add("b");
    assert.equal(await advance(1_000_000), 2);
    assert.deepEqual(runs, ["a at 0s", "b at 0s"]);
    assert.equal(await runner.next(), undefined);
  });

  const fail = () => {
    throw new Error("a bug");
  };
  await t.test("a job that throws waits for the next delay, and after the last one it is given up once", async (t) => {
    const { add, advance, runner, runs } = startRunner(t, fail);
    await add("a");
    await advance(10_000_000);
    // An error may contain secrets, so only the log has it.
    const reason = /^a given up at 36s: the service failed unexpectedly; its log has the reason under job_\w{26}$/;
    assert.deepEqual(runs.slice(0, -1), ["a at 0s", "a at 1s", "a at 6s", "a at 36s"]);
    assert.match(runs.at(-1) ?? "", reason);
    assert.equal(await runner.next(), undefined);
  });

  await t.test("a job that is never given up begins again a minute later, with all its retries", async (t) => {
    const { add, advance, runner, runs } = startRunner(t, (_, time) => (time < 6 ? fail() : done()), { again: true });
    await add("a");
    await advance(10_000_000);
    assert.deepEqual(runs, ["a at 0s", "a at 1s", "a at 6s", "a at 36s", "a at 96s", "a at 97s"]);
    assert.equal(await runner.next(), undefined);
  });

  await t.test("a snooze is no failure, however often", async (t) => {
    const { add, advance, runs } = startRunner(t, (_, time) => (time < 8 ? snooze(1000) : done()));
    await add("a");
    await advance(60_000);
    assert.deepEqual(
      runs,
      Array.from({ length: 8 }, (_, i) => `a at ${i}s`),
    );
  });

  await t.test("a snooze between two failures does not restart the delays", async (t) => {
    const { add, advance, runs } = startRunner(t, (_, time) =>
      time === 2 ? snooze(1000) : time < 5 ? fail() : done(),
    );
    await add("a");
    await advance(60_000);
    assert.deepEqual(runs, ["a at 0s", "a at 1s", "a at 2s", "a at 7s", "a at 37s"]);
  });

  await t.test(
    "its write and its removal are atomic: if the write fails, it is rolled back and the job runs again",
    async (t) => {
      const { add, advance, rows, runs } = startRunner(t, (name, time) => {
        if (name !== "a") return done();
        return done(async (tx) => {
          await rows(tx).insertOnce({ id: "job_written", kind: "tests.nobody", run_at: "9999" });
          if (time === 1) throw new Error("the disk is full");
        }, "rows");
      });
      await add("a");
      await advance(500);
      assert.equal((await rows().next({}))?.run_at, "2026-01-01T00:00:01.000Z");
      await advance(1000);
      assert.deepEqual(runs, ["a at 0s", "a at 1s"]);
      assert.equal((await rows().next({}))?.run_at, "9999");
    },
  );
});

test("a job whose arguments its schema refuses is kept, and holds up no other", async (t) => {
  for (const again of [true, false]) {
    const { add, advance, database, runs } = startRunner(t, () => done(), { again });
    await add("a");
    for (const args of ["{}", '{"name":']) {
      database.prepare("update jobs set args = ?").run(args);
      await advance(200_000);
    }
    await add("b");
    await advance(100);
    database.prepare('update jobs set args = \'{"name":"a"}\'').run();
    await advance(60_000);
    // Four attempts and a minute make 96 s; the fifth round has its fourth attempt at 420 s.
    assert.deepEqual(runs, ["b at 400s", "a at 420s"]);
  }
});

test("jobs that end one after the other leave no row", async (t) => {
  const { add, advance, database } = startRunner(t, () => done());
  for (const name of ["a", "b", "c"]) {
    await add(name);
    await advance(1_000);
  }
  assert.equal(database.prepare("select count(*) from jobs").pluck().get(), 0);
});

test("jobs that end while the store refuses writes are held and run again; jobs that end later are done", async (t) => {
  const { add, advance, database, runner, runs } = startRunner(t, () => done());
  for (const name of ["a", "b", "c"]) await add(name);
  const [a, b, c] = await runner.claim();
  assert.ok(a && b && c);
  database.pragma("query_only = ON");
  await Promise.all([runner.run(a), runner.run(b)]);
  database.pragma("query_only = OFF");
  await runner.run(c);
  await advance(60_000);
  assert.deepEqual(runs, ["a at 0s", "b at 0s", "c at 0s", "a at 2s", "b at 2s"]);
  assert.equal(await runner.next(), undefined);
});
