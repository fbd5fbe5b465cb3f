import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isLong } from "../helpers/properties.ts";
import { createCoverage, everything, machines, rare, unreachable } from "./coverage.ts";
import { simulate } from "./simulation.ts";

test("200 seeds of a whole service with kills, faults and many callers break no rule and lose nothing", {
  skip: !isLong && "npm run simulate -- --seeds 200 runs them",
}, async () => {
  for (let seed = 0; seed < 200; seed++) await assert.doesNotReject(simulate(String(seed)), `seed ${seed}`);
});

test("a seed breaks no rule and repeats exactly, and another seed is another history", async () => {
  const [one, again, other] = [await simulate("7"), await simulate("7"), await simulate("0")];
  assert.ok(one.kills > 0 && one.journal.some((line) => line.startsWith("received")));
  assert.deepEqual(again.journal, one.journal);
  assert.notEqual(other.hash, one.hash);
  for (const what of [
    "deployments.create project_archived",
    "deployments: build from queued",
    "the job deliveries.pump: snooze",
  ])
    assert.ok(other.reached.has(what), what);
});

test("the simulation finds what is lost with the write-ahead log, or with the files of generations", async () => {
  // Any code change alters the course of a seed, so up to 12 seeds try.
  const finds = async (loses: "-wal" | "-files", message: RegExp) => {
    for (let seed = 0; seed < 12; seed++) {
      const found = await simulate(String(seed), { loses }).then(
        () => undefined,
        (error: Error) => error,
      );
      if (found) return assert.match(found.message, message);
    }
    assert.fail(`12 seeds lost files with ${loses}, and none found it`);
  };
  await finds("-wal", /was acknowledged and is gone/);
  await finds("-files", /the file of gen_\w+ is lost/);
});

test("the coverage knows every state machine, and tells what is missing, wrongly listed and unknown", () => {
  const states = readdirSync("lib", { recursive: true })
    .map((name) => join("lib", String(name)))
    .filter((name) => name.endsWith("states.ts"));
  const declared = states.flatMap((name) => readFileSync(name, "utf8").match(/= machine\(/g) ?? []);
  assert.equal(Object.keys(machines).length, declared.length);
  const coverage = createCoverage();
  const listed = unreachable.flatMap(({ what }) => what);
  assert.deepEqual(coverage.report().wrong, [], "what is listed is declared");
  assert.equal(coverage.report().missing.length + new Set([...listed, ...rare]).size, everything.length);
  const [missing = ""] = coverage.report().missing;
  for (const what of [missing, listed[0] ?? "", "projects.create made_up"]) coverage.reached.add(what);
  const { missing: left, wrong, unknown } = coverage.report();
  assert.deepEqual([left.includes(missing), wrong, unknown], [false, [listed[0]], ["projects.create made_up"]]);
});
