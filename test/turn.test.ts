import assert from "node:assert/strict";
import { test } from "node:test";
import { createGathering, turn } from "../lib/kernel/turn.ts";

test("the first of a turn runs at once, what else comes in it at its end, in order, and so in the next one", async () => {
  const gather = createGathering();
  const seen: string[] = [];
  const add = (name: string) => gather(() => void seen.push(name));
  for (const name of ["a", "b", "c"]) add(name);
  assert.deepEqual(seen, ["a"]);
  await turn();
  assert.deepEqual(seen, ["a", "b", "c"]);
  for (const name of ["d", "e"]) add(name);
  assert.deepEqual(seen, ["a", "b", "c", "d"]);
  await turn();
  assert.deepEqual(seen, ["a", "b", "c", "d", "e"]);
});
