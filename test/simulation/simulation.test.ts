import assert from "node:assert/strict";
import { test } from "node:test";
import { isLong } from "../helpers/properties.ts";
import { simulate } from "./simulation.ts";

const seeds = Array.from({ length: isLong ? 200 : 4 }, (_, seed) => String(seed));

test(`${seeds.length} seeds of a whole service with kills, faults and many callers break no rule and lose nothing`, async () => {
  for (const seed of seeds) await assert.doesNotReject(simulate(seed), `seed ${seed}`);
});

test("a seed repeats exactly, and another seed is another history", async () => {
  const [one, again, other] = [await simulate("7"), await simulate("7"), await simulate("8")];
  assert.ok(one.kills > 0 && one.journal.some((line) => line.startsWith("received")));
  assert.deepEqual(again.journal, one.journal);
  assert.notEqual(other.hash, one.hash);
});

test("the simulation finds what is lost with the write-ahead log, or with the files of generations", async () => {
  await assert.rejects(simulate("0", { loses: "-wal" }), /was acknowledged and is gone/);
  await assert.rejects(simulate("0", { loses: "-files" }), /the file of gen_\w+ is lost/);
});
