import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterArrivals,
  createBatchPerTick,
  createTurns,
  noteArrival,
  yieldToEventLoop,
} from "../../lib/kernel/node/event-loop.ts";

test("the first callback of a tick runs at once, the others at its end, in order, and so in the next tick", async () => {
  const batch = createBatchPerTick(assert.ifError);
  const seen: string[] = [];
  const add = (name: string) => batch(() => void seen.push(name));
  for (const name of ["a", "b", "c"]) add(name);
  assert.deepEqual(seen, ["a"]);
  await yieldToEventLoop();
  assert.deepEqual(seen, ["a", "b", "c"]);
  for (const name of ["d", "e"]) add(name);
  assert.deepEqual(seen, ["a", "b", "c", "d"]);
  await yieldToEventLoop();
  assert.deepEqual(seen, ["a", "b", "c", "d", "e"]);
});

test("a callback that throws stops neither the others of its tick nor those of the next one", async () => {
  const [seen, thrown]: [string[], unknown[]] = [[], []];
  const batch = createBatchPerTick((error) => thrown.push(error));
  const fail = (name: string) => () => {
    throw new Error(name);
  };
  const add = (name: string) => batch(() => void seen.push(name));
  assert.throws(() => batch(fail("the first")), /the first/);
  add("a");
  batch(fail("the second"));
  batch(fail("the third"));
  add("b");
  await yieldToEventLoop();
  assert.deepEqual(
    [seen, thrown.map(String)],
    [
      ["a", "b"],
      ["Error: the second", "Error: the third"],
    ],
  );
  add("c");
  assert.deepEqual(seen, ["a", "b", "c"]);
});

test("turns run in order, few in a tick, and an error of one that waited stops none", async () => {
  const [seen, thrown]: [number[], unknown[]] = [[], []];
  const turns = createTurns((error) => thrown.push(error));
  const add = (i: number) =>
    turns(() => {
      seen.push(i);
      if (i === 40) throw new Error("forty");
    });
  for (let i = 0; i < 100; i++) add(i);
  assert.equal(seen.length, 16);
  await yieldToEventLoop();
  assert.equal(seen.length, 32);
  // New ones go behind those that wait.
  add(100);
  assert.equal(seen.length, 32);
  for (let i = 0; i < 5; i++) await yieldToEventLoop();
  assert.deepEqual(
    seen,
    Array.from({ length: 101 }, (_, i) => i),
  );
  assert.deepEqual(thrown.map(String), ["Error: forty"]);
  await yieldToEventLoop();
  for (let i = 0; i < 3; i++) add(i);
  assert.equal(seen.length, 104);
  assert.throws(() => add(40), /forty/);
});

test("a queue waits while connections arrive and it grows, but no longer than 32 ticks", async () => {
  const ticksUntilRun = async (arrivals: number, growth: number) => {
    let hasRun = false;
    let passed = 0;
    afterArrivals(
      () => (hasRun = true),
      () => Math.min(passed, growth),
    );
    for (; !hasRun; passed++) {
      if (passed < arrivals) noteArrival();
      await yieldToEventLoop();
    }
    return passed;
  };
  const isAbout = (ticks: number, expected: number) =>
    assert.ok(Math.abs(ticks - expected) <= 1, `${ticks} ticks instead of about ${expected}`);
  assert.equal(await ticksUntilRun(0, 1_000), 1);
  isAbout(await ticksUntilRun(5, 1_000), 7);
  isAbout(await ticksUntilRun(1_000, 1_000), 33);
  isAbout(await ticksUntilRun(1_000, 0), 4);
  isAbout(await ticksUntilRun(1_000, 10), 14);
});
