import assert from "node:assert/strict";
import { test } from "node:test";
import { finishedGeneration, sharedPainter, small } from "../helpers/painter.ts";
import { expect, world } from "../helpers/test-service.ts";

const driver = sharedPainter();
const options = { generations: { driver: driver() } };

test("GET /usage sums what finished generations cost, by day and model", async (t) => {
  const scripted = driver(({ prompt }) => (prompt === "broken" ? { result: "fail" } : undefined));
  const here = await world(t, { generations: { driver: scripted } });
  const { clock } = here.service;
  const cheap = { ...small, model: "priced", seed: 3 };
  await finishedGeneration(here);
  await finishedGeneration(here, cheap);
  await finishedGeneration(here, { ...small, prompt: "broken" });
  await clock.advance("24h");
  await finishedGeneration(here);
  await finishedGeneration(here);
  const read = async (query = "") => {
    const { data, total } = expect(await here.call("viewer", "GET", `/v1/usage${query}`), 200);
    return { data, total };
  };
  const [first, second] = ["2026-01-01", "2026-01-02"];
  const line = (date: string | undefined, model: string, generations: number, cost_usd: number) => ({
    ...{ date, model, generations, cost_usd },
  });
  const all = [line(first, "any-image", 1, 0.01), line(first, "priced", 1, 0.01), line(second, "any-image", 2, 0.02)];
  assert.deepEqual(await read(), { data: all, total: { generations: 4, cost_usd: 0.04 } });
  assert.deepEqual((await read(`?from=${second}`)).data, all.slice(2));
  assert.deepEqual((await read(`?to=${first}`)).data, all.slice(0, 2));
  assert.deepEqual((await read(`?from=${first}&to=${second}`)).data, all);
  assert.deepEqual((await read("?from=2026-01-02T23:00:00%2B02:00&to=2026-01-02T23:59:59Z")).data, all.slice(2));
  assert.deepEqual(await read("?from=2027-01-01"), { data: [], total: { generations: 0, cost_usd: 0 } });
  const foreign = expect(await here.call("stranger", "GET", "/v1/usage"), 200);
  assert.deepEqual(foreign.data, []);
});

test("GET /usage refuses an invalid date, and an end before the start", async (t) => {
  const here = await world(t, options);
  for (const query of [
    ...["from=yesterday", "from=2026-02-30", "to=2026-1-1", "from=2026-01-01T10:00", "from=", "to=20260101"],
    ...["from=2026-01-01&from=2026-01-02", "from=2026-01-02&to=2026-01-01"],
  ]) {
    const { error } = expect(await here.call("owner", "GET", `/v1/usage?${query}`), 422);
    assert.match(error.details[0].path, /^(from|to)$/, query);
  }
});

test("Sums of prices are exact", async (t) => {
  const here = await world(t, { generations: { driver: driver(() => ({ cost_usd: 0.1 })) } });
  for (let seed = 0; seed < 3; seed++) await finishedGeneration(here, { ...small, seed });
  assert.equal(expect(await here.call("owner", "GET", "/v1/usage"), 200).total.cost_usd, 0.3);
});
