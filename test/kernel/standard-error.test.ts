import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { compiled } from "../helpers/bundle.ts";

for (const [end, status] of [
  ["return", 0],
  ["exit", 3],
  ["throw", 1],
] as const)
  test(`lines keep their order, and the last ones are written before a process ends: ${end}`, () => {
    const child = compiled("test/kernel/standard-error.child.js");
    const ended = spawnSync(process.execPath, [child, end], { encoding: "utf8" });
    const lines = ended.stderr.split("\n").filter((line) => /^([a-d]|between)$/.test(line));
    assert.deepEqual([ended.status, ...lines], [status, "a", "b", "between", "c", "d"]);
  });
