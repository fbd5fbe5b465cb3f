import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { simulatedGenerations } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { hasSnapshots } from "../helpers/engine.ts";
import { createGeneration, sharedPainter } from "../helpers/painter.ts";
import { expect, start, type World, world } from "../helpers/test-service.ts";

const driver = sharedPainter();
const seen = async (here: World, { id }: { id: string }) =>
  expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200);

describe("the pace of generations", () => {
  test("polls: each GET moves one by one state, and time moves it nowhere", async (t) => {
    const here = await world(t, { generations: { driver: driver() } });
    await here.service.scenarios.add({ outcome: { pace: "polls", cost_usd: 3 } });
    const generation = await createGeneration(here);
    await here.service.clock.advance("1h");
    assert.equal(generation.status, "queued");
    assert.equal((await seen(here, generation)).status, "in_progress");
    assert.deepEqual(await here.service.clock.advance("1h"), { now: "2026-01-01T02:00:00.000Z", ran: 0 });
    const { status, usage, output } = await seen(here, generation);
    assert.deepEqual([status, usage.cost_usd], ["completed", 3]);
    assert.equal((await here.service.fetch(output.url)).headers.get("content-type"), "image/png");
    assert.equal((await seen(here, generation)).status, "completed");
    const { total } = expect(await here.call("owner", "GET", "/v1/usage"), 200);
    assert.deepEqual(total, { generations: 1, cost_usd: 3 });
  });

  test("concurrent polls run the model once, and its file stays", async (t) => {
    const own = driver();
    let submitted = 0;
    const counting: typeof own = {
      ...own,
      submit(work) {
        submitted += 1;
        return own.submit(work);
      },
    };
    const here = await world(t, { generations: { driver: counting } });
    await here.service.scenarios.add({ outcome: { pace: "polls" } });
    const generation = await createGeneration(here);
    await Promise.all(Array.from({ length: 5 }, () => seen(here, generation)));
    await Promise.all(Array.from({ length: 5 }, () => seen(here, generation)));
    const { status, output } = await seen(here, generation);
    assert.deepEqual([status, submitted], ["completed", 1]);
    assert.equal((await here.service.fetch(output.url)).status, 200);
  });

  test("manual: a generation moves by a tester's step alone", async (t) => {
    const here = await world(t, { generations: { driver: driver() } });
    await here.service.scenarios.next("generation", { pace: "manual", result: "fail", message: "no" });
    const generation = await createGeneration(here);
    await here.service.clock.advance("365d");
    assert.equal((await seen(here, generation)).status, "queued");
    const { meta: _, ...told } = expect(
      await here.call("nobody", "POST", `/_svc/generations/${generation.id}/step`),
      200,
    );
    const { meta: __, ...now } = await seen(here, generation);
    assert.deepEqual([told, told.status], [now, "in_progress"]);
    await here.service.clock.advance("1h");
    assert.equal((await seen(here, generation)).status, "in_progress");
    assert.equal(await here.service.generations.step(generation.id), "failed");
    assert.equal((await seen(here, generation)).error.message, "no");
  });

  test("a stepped generation keeps its place in the queue, and frees its slot at its end", async (t) => {
    const here = await world(t, { generations: { driver: driver(), concurrency: 1 } });
    await here.service.scenarios.next("generation", { pace: "manual" });
    const stepped = await createGeneration(here);
    const behind = await createGeneration(here);
    await here.service.clock.advance("1s");
    assert.equal(await here.service.generations.step(stepped.id), "queued");
    await here.service.clock.advance("2s");
    const states = async () => [(await seen(here, stepped)).status, (await seen(here, behind)).status];
    assert.deepEqual(await states(), ["in_progress", "completed"]);
    const last = await createGeneration(here);
    await here.service.clock.advance("1m");
    assert.equal((await seen(here, last)).status, "queued");
    assert.equal(await here.service.generations.step(stepped.id), "completed");
    await here.service.clock.advance("1m");
    assert.equal((await seen(here, last)).status, "completed");
  });

  test("a stepped generation can be cancelled, and continues after a restore", async (t) => {
    const here = await world(t, { generations: { driver: driver() } });
    await here.service.scenarios.next("generation", { pace: "manual" });
    const generation = await createGeneration(here);
    await here.service.generations.step(generation.id);
    const kept = hasSnapshots ? await here.service.snapshot() : undefined;
    expect(await here.call("owner", "POST", `/v1/generations/${generation.id}/cancel`), 200);
    await assert.rejects(here.service.generations.step(generation.id), /has not ended; this one is failed/);
    if (kept) {
      await here.service.restore(kept.id);
      assert.equal(await here.service.generations.step(generation.id), "completed");
    }
    assert.equal(here.service.clock.now().toISOString(), start);
  });

  test("work that cannot be stepped", async (t) => {
    const here = await world(t, { generations: { driver: driver() } });
    const timed = await createGeneration(here);
    const step = (id: string) => here.call("nobody", "POST", `/_svc/generations/${id}/step`);
    assert.deepEqual(pathsOf(expect(await step(timed.id), 422)), ["id"]);
    expect(await step("gen_none"), 404);
    assert.equal((await seen(here, timed)).status, "queued");
  });

  test("a custom driver that takes scenarios may need several steps", async (t) => {
    let asked = 0;
    const own = driver();
    const slow: ReturnType<typeof simulatedGenerations> = {
      ...own,
      submit: async () => ({ state: "running", again_ms: 1000, handle: "h" }),
      poll: (work, handle) =>
        asked++ ? own.poll(work, handle) : Promise.resolve({ state: "running", again_ms: 1, handle }),
    };
    const here = await world(t, { generations: { driver: slow } });
    await here.service.scenarios.next("generation", { pace: "manual" });
    const { id } = await createGeneration(here);
    const states = [];
    for (let i = 0; i < 4; i++) states.push(await here.service.generations.step(id));
    assert.deepEqual(states, ["in_progress", "in_progress", "in_progress", "completed"]);
  });
});
