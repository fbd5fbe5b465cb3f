import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedGenerations } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { expect, start, type World, world } from "../helpers/test-service.ts";

const ask = async (here: World, more: object = {}) =>
  expect(
    await here.call("owner", "POST", "/v1/generations", { model: "image-draft", prompt: "a cat by the sea", ...more }),
    201,
  );
const small = { resolution: "512" };
const seen = async (here: World, { id }: { id: string }) =>
  expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200);

test("a scenario decides how matching generations turn out", async (t) => {
  const here = await world(t);
  await here.service.scenarios.add({
    match: { prompt: "*cat*" },
    outcome: { result: "fail", message: "no cats", durations: { queued: "5s", in_progress: "10s" } },
  });
  const cat = await ask(here);
  const dog = await ask(here, { prompt: "a dog", ...small });
  await here.service.clock.advance("14s");
  assert.deepEqual([(await seen(here, cat)).status, (await seen(here, dog)).status], ["in_progress", "completed"]);
  await here.service.clock.advance("1s");
  const { status, error, usage } = await seen(here, cat);
  assert.deepEqual([status, error.message, usage.cost_usd], ["failed", "no cats", 0]);
});

test("each field is matched by its glob", async (t) => {
  const here = await world(t);
  const { scenarios } = here.service;
  const fits = [{ model: "image-*" }, { prompt: "a cat ?? the sea" }, { model: "*", prompt: "*" }];
  const others = [{ model: "video-*" }, { prompt: "cat" }, { repo: "*" }, { model: "image-*", prompt: "dog" }];
  for (const match of others) await scenarios.add({ match, outcome: { result: "fail" } });
  for (const match of fits) await scenarios.add({ match, outcome: { result: "fail", message: "m" }, times: 1 });
  for (const _ of fits) await ask(here);
  await here.service.clock.advance("1m");
  assert.deepEqual(
    (await scenarios.list()).map(({ used }) => used),
    [0, 0, 0, 0, 1, 1, 1],
  );
});

test("a cost, and no time at all", async (t) => {
  const here = await world(t);
  await here.service.scenarios.next("generation", { cost_usd: 1.25, pace: "instant" });
  const generation = await ask(here, small);
  const { now } = await here.service.settle();
  const { status, usage } = await seen(here, generation);
  assert.deepEqual([now, status, usage.cost_usd], [start, "completed", 1.25]);
});

test("next for a generation is not used by a deployment, nor by a custom driver", async (t) => {
  const { takesScenarios: _, ...driver } = simulatedGenerations();
  const here = await world(t, { generations: { driver } });
  await here.service.scenarios.next("generation", { result: "fail" });
  const { id } = await here.project();
  await here.deploy(id);
  await ask(here, small);
  assert.equal((await here.service.scenarios.unused()).length, 1);
});

test("a generation is not rolled back", async (t) => {
  const here = await world(t);
  const outcome = { result: "rolled_back" };
  for (const body of [
    { next: "generation", outcome },
    { match: { model: "*" }, outcome },
  ])
    assert.deepEqual(pathsOf(expect(await here.call("nobody", "POST", "/_svc/scenarios", body), 422)), [
      "outcome.result",
    ]);
});

test("an outcome may have every field of the contract, for either kind of work", async (t) => {
  const here = await world(t);
  const durations = { queued: "1s", building: "2s", deploying: "3s", in_progress: "4s" } as const;
  const logs = [{ level: "info", message: "m" }] as const;
  const outcome = { result: "fail", at: "building", message: "no", durations, logs, cost_usd: 2 } as const;
  for (const match of [{}, { branch: "m*" }, { model: "*" }])
    expect(await here.call("nobody", "POST", "/_svc/scenarios", { match, outcome }), 200);
  await here.service.scenarios.next("deployment", outcome);
  await here.service.scenarios.next("generation", outcome);
});
