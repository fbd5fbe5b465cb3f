import assert from "node:assert/strict";
import { test } from "node:test";
import { BadOptions, createService } from "../../lib/index.ts";
import { json, pixel, startBackend } from "../helpers/openai-backend.ts";
import { finishedGeneration, sharedPainter, small } from "../helpers/painter.ts";
import { expect, world } from "../helpers/test-service.ts";

const driver = sharedPainter();
const backendsOf = (url: string, more: object = {}) => ({
  driver: driver(),
  backends: { mine: { type: "openai" as const, url: `${url}/v1`, models: { "flux-dev": { price: 0.03 } }, ...more } },
});
const order = { model: "flux-dev", prompt: "a hill" };

test("A backend's model is run there, at its own price, and every other model is painted", async (t) => {
  const backend = await startBackend(t);
  const here = await world(t, { generations: backendsOf(backend.url) });
  const { status, output, usage, input } = await finishedGeneration(here, { ...order, resolution: "2K", steps: 4 });
  assert.deepEqual([status, usage.cost_usd, input.steps], ["completed", 0.03, 4]);
  assert.deepEqual(Buffer.from(await (await here.service.fetch(output.url)).arrayBuffer()), pixel);
  assert.equal((await finishedGeneration(here, small)).usage.cost_usd, 0.01);
  assert.equal(backend.asked.length, 1);
});

test("A backend's model needs a prompt, and is known under models: strict", async (t) => {
  const backend = await startBackend(t);
  const here = await world(t, { generations: { ...backendsOf(backend.url), models: "strict" } });
  for (const body of [{ model: "flux-dev" }, { ...order, prompt: "" }]) {
    const { error } = expect(await here.call("owner", "POST", "/v1/generations", body), 422);
    assert.equal(error.details[0].path, "prompt");
  }
  expect(await here.call("owner", "POST", "/v1/generations", order), 201);
  const { error } = expect(await here.call("owner", "POST", "/v1/generations", small), 422);
  assert.match(error.message, /image-standard.*flux-dev/);
});

test("A busy backend is retried by the service's clock, and its message becomes the error", async (t) => {
  let busy = 2;
  const backend = await startBackend(t, (response, asked) => {
    busy -= 1;
    const answer = busy >= 0 ? json(503, {}, { "retry-after": "30" }) : json(400, { error: { message: "no faces" } });
    answer(response, asked);
  });
  const here = await world(t, { generations: backendsOf(backend.url) });
  const { id, status } = await finishedGeneration(here, order);
  assert.equal(status, "in_progress");
  await here.service.clock.advance("1m");
  const { error } = expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200);
  assert.deepEqual(error, { code: "backend_refused", message: "the backend answered 400: no faces" });
  assert.equal(backend.asked.length, 3);
});

test("Invalid backends are refused with a message that never holds the key", async () => {
  const key = "sk-demo secret";
  const good = { type: "openai", url: "http://localhost:1/v1", models: {} };
  for (const wrong of [
    { ...good, type: "other" },
    { ...good, url: "ftp://localhost/" },
    { ...good, url: "http://user:pass@localhost/" },
    { ...good, url: "http://localhost/?a=1" },
    { ...good, models: { a: { price: -1 } } },
    { ...good, models: { a: { price: Number.POSITIVE_INFINITY } } },
    { ...good, models: { a: { sizes: ["big"] } } },
    { ...good, downloads: ["cdn.example.com"] },
    { ...good, timeout: "soon" },
    { ...good, key },
    { ...good, unknown: 1 },
  ]) {
    const options = { generations: { backends: { mine: wrong } } } as unknown as Parameters<typeof createService>[0];
    await assert.rejects(createService(options), (error) => {
      assert.ok(error instanceof BadOptions);
      assert.match(error.message, /^option generations\.backends\.mine\./);
      assert.ok(!error.message.includes(key));
      return true;
    });
  }
});
