import assert from "node:assert/strict";
import { test } from "node:test";
import { createBatchPerTick, yieldToEventLoop } from "../../lib/kernel/event-loop.ts";

test("the first of a turn runs at once, what else comes in it at its end, in order, and so in the next one", async () => {
  const gather = createBatchPerTick(assert.ifError);
  const seen: string[] = [];
  const add = (name: string) => gather(() => void seen.push(name));
  for (const name of ["a", "b", "c"]) add(name);
  assert.deepEqual(seen, ["a"]);
  await yieldToEventLoop();
  assert.deepEqual(seen, ["a", "b", "c"]);
  for (const name of ["d", "e"]) add(name);
  assert.deepEqual(seen, ["a", "b", "c", "d"]);
  await yieldToEventLoop();
  assert.deepEqual(seen, ["a", "b", "c", "d", "e"]);
});

test("what throws keeps none of the others of its turn from leaving, nor those of the next one", async () => {
  const [seen, thrown]: [string[], unknown[]] = [[], []];
  const gather = createBatchPerTick((error) => thrown.push(error));
  const fail = (name: string) => () => {
    throw new Error(name);
  };
  const add = (name: string) => gather(() => void seen.push(name));
  assert.throws(() => gather(fail("the first")), /the first/);
  add("a");
  gather(fail("the second"));
  gather(fail("the third"));
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
