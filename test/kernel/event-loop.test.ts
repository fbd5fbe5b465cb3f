import assert from "node:assert/strict";
import { test } from "node:test";
import { createBatchPerTick, yieldToEventLoop } from "../../lib/kernel/event-loop.ts";

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
