import assert from "node:assert/strict";
import { test } from "node:test";
import { BadOptions, createService } from "../../lib/index.ts";
import { sharedPainter, small } from "../helpers/painter.ts";
import { expect, world } from "../helpers/test-service.ts";

const driver = sharedPainter();
const options = { rateLimit: 100_000, generations: { driver: driver() } };
const prompt = "a hill";

/** Refused bodies, with the paths of their invalid fields. */
const broken: readonly (readonly [body: object, paths: readonly string[]])[] = [
  [{}, ["model"]],
  [{ model: "" }, ["model"]],
  [{ model: 7 }, ["model"]],
  [{ model: null }, ["model"]],
  [{ model: { toString: 1 } }, ["model"]],
  [{ model: "x".repeat(256) }, ["model"]],
  [{ model: "any\u0000" }, ["model"]],
  [{ model: "any", prompt: 1 }, ["prompt"]],
  [{ model: "any", prompt: "x".repeat(4001) }, ["prompt"]],
  [{ model: "any", prompt: "\ud800" }, ["prompt"]],
  [
    { model: "any", prompt: null, aspect_ratio: 1, resolution: [], output_format: {} },
    ["prompt", "aspect_ratio", "resolution", "output_format"],
  ],
  [{ model: "image-standard" }, ["prompt"]],
  [{ model: "image-standard", prompt: "" }, ["prompt"]],
  [{ model: "image-draft", prompt: "x".repeat(4001) }, ["prompt"]],
  [
    { model: "image-standard", aspect_ratio: "7:5", resolution: "4K", output_format: "gif", seed: -1 },
    ["prompt", "aspect_ratio", "resolution", "output_format", "seed"],
  ],
  [{ model: "image-draft", prompt, output_format: "mp4" }, ["output_format"]],
  [{ model: "image-standard", prompt, resolution: "480p" }, ["resolution"]],
  [{ model: "image-standard", prompt, seed: 4_294_967_296 }, ["seed"]],
  [{ model: "image-standard", prompt, seed: 0.5 }, ["seed"]],
  [{ model: "image-standard", prompt, seed: "1" }, ["seed"]],
  [{ model: "video-standard" }, ["prompt"]],
  [{ model: "video-standard", prompt, duration: 0 }, ["duration"]],
  [{ model: "video-standard", prompt, duration: 9 }, ["duration"]],
  [{ model: "video-standard", prompt, duration: "2" }, ["duration"]],
  [{ model: "video-standard", prompt, output_format: "png", resolution: "1K" }, ["resolution", "output_format"]],
];

test("A request that breaks rules is refused with each broken rule, and makes nothing", async (t) => {
  const here = await world(t, options);
  for (const [body, paths] of broken) {
    const { error } = expect(await here.call("owner", "POST", "/v1/generations", body), 422);
    const named = error.details.map(({ path }: { path: string }) => path);
    assert.deepEqual(named.sort(), [...paths].sort(), JSON.stringify(body).slice(0, 80));
  }
  assert.deepEqual(expect(await here.call("owner", "GET", "/v1/generations"), 200).data, []);
});

const defaults = { image: { aspect_ratio: "1:1", resolution: "1K", output_format: "png", seed: 0 } };
const film = { aspect_ratio: "16:9", resolution: "480p", output_format: "mp4", seed: 0, duration: 2 };

/** Accepted requests, with the inputs in their answers. */
const taken: readonly (readonly [body: object, input: object])[] = [
  [{ model: "any" }, defaults.image],
  [
    { model: "any", prompt: "" },
    { ...defaults.image, prompt: "" },
  ],
  [
    { model: "any", prompt: "\u{1f3d4}".repeat(4000) },
    { ...defaults.image, prompt: "\u{1f3d4}".repeat(4000) },
  ],
  [
    { model: "x".repeat(255), resolution: "4K" },
    { ...defaults.image, resolution: "4K" },
  ],
  [
    { model: "any", steps: 30, loras: [{ name: "a" }], seed: "random" },
    { ...defaults.image, steps: 30, loras: [{ name: "a" }], seed: "random" },
  ],
  [{ model: "my-video-model" }, film],
  [
    { model: "image-standard", prompt, steps: 30 },
    { ...defaults.image, prompt },
  ],
  [
    { model: "image-draft", prompt, output_format: "jpg", seed: 4_294_967_295, resolution: "2K", aspect_ratio: "2:3" },
    { prompt, output_format: "jpg", seed: 4_294_967_295, resolution: "2K", aspect_ratio: "2:3" },
  ],
  [
    { model: "video-standard", prompt, duration: 8 },
    { ...film, prompt, duration: 8 },
  ],
];

test("A valid request is accepted, at the limits too, with the defaults filled in", async (t) => {
  const here = await world(t, options);
  for (const [body, input] of taken) {
    const made = expect(await here.call("owner", "POST", "/v1/generations", body), 201);
    assert.deepEqual(made.input, input, JSON.stringify(body).slice(0, 80));
  }
});

test("The option models: strict refuses an unknown model, and names the known ones", async (t) => {
  const here = await world(t, { generations: { ...options.generations, models: "strict" } });
  const { error } = expect(await here.call("owner", "POST", "/v1/generations", small), 422);
  assert.deepEqual(
    error.details.map(({ path }: { path: string }) => path),
    ["model"],
  );
  for (const name of ["image-standard", "image-draft", "video-standard"]) assert.ok(error.message.includes(name));
  expect(await here.call("owner", "POST", "/v1/generations", { model: "image-draft", prompt }), 201);
});

test("Invalid options are refused with a message", async () => {
  const wrong = [
    ...[
      { concurrency: 0 },
      { finishedStatus: "done" },
      { models: "any" },
      { media: "quick" },
      { retention: "soon" },
      { retention: "0s" },
    ],
    ...[{ driver: {} }, { driver: null }, { unknown: 1 }],
  ];
  for (const generations of wrong) {
    const given = { generations } as unknown as Parameters<typeof createService>[0];
    await assert.rejects(createService(given), (error) => {
      assert.ok(error instanceof BadOptions);
      assert.match(error.message, /^option generations\.\w+ /);
      return true;
    });
  }
});
