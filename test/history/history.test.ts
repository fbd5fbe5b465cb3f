import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isPostgres } from "../helpers/engine.ts";
import { isLong } from "../helpers/properties.ts";
import { compareEngines } from "./compare.ts";
import { type Engine, inFile, inMemory, onPostgres } from "./engines.ts";

/** Two engines, removed at the end of the test. */
async function two(t: TestContext, seed: number): Promise<[Engine, Engine]> {
  const engines: [Engine, Engine] = [
    await inFile(seed),
    await (isPostgres ? onPostgres(process.env["SVC_TEST_POSTGRES"] ?? "", seed) : inMemory()),
  ];
  for (const engine of engines) t.after(engine.end);
  return engines;
}

const [seeds, calls] = isLong ? [20, 2_000] : [2, 250];

for (let seed = 0; seed < seeds; seed++)
  test(`history ${seed} is the same on two engines, call by call and row by row`, async (t) => {
    assert.equal(await compareEngines(seed, calls, await two(t, seed)), undefined);
  });

test("a place for a generation of another organization draws the same identifiers on PostgreSQL", {
  skip: !isPostgres && "the engines of a file and in memory do not differ there",
}, async (t) => {
  assert.equal(await compareEngines(1012, 770, await two(t, 1012)), undefined);
});

test("an engine that answers otherwise is found, with the call and both answers", async (t) => {
  const [file, other] = await two(t, 100);
  const narrow = { ...other, name: "another", options: { ...other.options, regions: ["nowhere"] } };
  const found = await compareEngines(100, 250, [file, narrow]);
  assert.match(found ?? "", /^call \d+, [\s\S]*projects/);
  assert.match(
    found ?? "",
    /\non SQLite in a file:\nPOST \/v1\/projects 201 .*\non another:\nPOST \/v1\/projects 422 .*nowhere/s,
  );
});

test("an engine that ends with other rows is found", async (t) => {
  const [file, other] = await two(t, 101);
  const rows: Engine["rows"] = async (now) => (await other.rows(now)).filter((line) => !line.startsWith("users "));
  const found = await compareEngines(101, 250, [file, { ...other, rows }]);
  assert.match(found ?? "", /^a row at the end\non SQLite in a file:\nusers \{/);
});
