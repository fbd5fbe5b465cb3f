import assert from "node:assert/strict";
import { test } from "node:test";
import { parseInputs } from "../../lib/features/generations/inputs.ts";
import { modelOf, models } from "../../lib/features/generations/models.ts";
import { costOf, microsOf, usdOf } from "../../lib/features/generations/price-list.ts";
import fc from "../helpers/fast-check.ts";

const size = (kind: "image" | "video", asked: object) => {
  const { width, height } = parseInputs(kind, { ...asked });
  return `${width}x${height}`;
};

/**
 * CONTRACT section 5: the resolution is the long side of images and the short side of films. The other side is rounded
 * to an even number.
 */
const sizes = [
  ["image", {}, "1024x1024"],
  ["image", { resolution: "512", aspect_ratio: "16:9" }, "512x288"],
  ["image", { resolution: "512", aspect_ratio: "3:2" }, "512x342"],
  ["image", { resolution: "1K", aspect_ratio: "9:16" }, "576x1024"],
  ["image", { resolution: "1K", aspect_ratio: "3:2" }, "1024x682"],
  ["image", { resolution: "2K", aspect_ratio: "3:4" }, "1536x2048"],
  ["image", { resolution: "2k", aspect_ratio: "21:9" }, "2048x878"],
  ["image", { resolution: "720p" }, "720x720"],
  ["image", { resolution: "333x77", aspect_ratio: "1:1" }, "333x77"],
  ["image", { resolution: "2048x16" }, "2048x16"],
  ["image", { aspect_ratio: "9999:1" }, "1024x16"],
  ["video", {}, "854x480"],
  ["video", { resolution: "720p" }, "1280x720"],
  ["video", { resolution: "1080p", aspect_ratio: "9:16" }, "1080x1920"],
  ["video", { resolution: "480p", aspect_ratio: "1:1" }, "480x480"],
  ["video", { resolution: "480p", aspect_ratio: "4:3" }, "640x480"],
  ["video", { resolution: "1080p", aspect_ratio: "2:1" }, "2048x1024"],
  ["video", { resolution: "333x77" }, "334x78"],
] as const;

for (const [kind, asked, expected] of sizes) {
  test(`${kind} ${JSON.stringify(asked)} is ${expected}`, () => assert.equal(size(kind, asked), expected));
}

const nonsense = [
  "4K",
  "0",
  "",
  "1024",
  "15x32",
  "2049x32",
  "32x",
  "x32",
  "32X32x32",
  "1e3x100",
  "０x０",
  "constructor",
];

test("Inputs that are not understood fall back to the default", () => {
  for (const resolution of nonsense) assert.equal(size("image", { resolution }), "1024x1024", resolution);
  for (const aspect_ratio of ["0:1", "1:0", "16/9", "auto", "1:2:3", "-1:2", "10000:1", "16: 9"])
    assert.equal(size("image", { aspect_ratio }), "1024x1024", aspect_ratio);
  for (const output_format of ["gif", "mp4", "", "png ", "toString"])
    assert.equal(parseInputs("image", { output_format }).format, "png", output_format);
  for (const seed of [-1, 1.5, 4_294_967_296, "7", Number.NaN]) assert.equal(parseInputs("image", { seed }).seed, 0);
  for (const duration of [0, 9, 1.5, "3"]) assert.equal(parseInputs("video", { duration }).duration_ms, 2000);
});

test("Inputs that are understood are used", () => {
  assert.equal(parseInputs("image", { output_format: "jpg" }).format, "jpeg");
  assert.equal(parseInputs("image", { output_format: "WebP" }).format, "webp");
  assert.equal(parseInputs("video", { output_format: "png" }).format, "mp4");
  assert.equal(parseInputs("image", { seed: 4_294_967_295 }).seed, 4_294_967_295);
  assert.equal(parseInputs("video", { duration: 8 }).duration_ms, 8000);
  assert.equal(parseInputs("image", { duration: 8 }).duration_ms, 0);
});

const anything = fc.record(
  {
    prompt: fc.anything(),
    aspect_ratio: fc.oneof(
      fc.anything(),
      fc.tuple(fc.nat(12_000), fc.nat(12_000)).map((pair) => pair.join(":")),
    ),
    resolution: fc.oneof(
      fc.anything(),
      fc.tuple(fc.nat(3000), fc.nat(3000)).map((pair) => pair.join("x")),
    ),
    output_format: fc.anything(),
    seed: fc.anything(),
    duration: fc.anything(),
  },
  { requiredKeys: [] },
);

test("The painter can paint any inputs, and the price is whole millionths", () => {
  fc.assert(
    fc.property(fc.constantFrom("image", "video"), anything, (kind, asked) => {
      const { width, height, format, seed, duration_ms } = parseInputs(kind, asked);
      for (const side of [width, height]) assert.ok(Number.isInteger(side) && side >= 16 && side <= 2048, `${side}`);
      if (kind === "video") assert.ok(width % 2 === 0 && height % 2 === 0);
      assert.equal(kind === "video", format === "mp4");
      assert.ok(Number.isInteger(seed) && seed >= 0 && seed <= 4_294_967_295);
      assert.equal(kind === "video", duration_ms >= 1000 && duration_ms <= 8000);
      for (const { price } of models.filter((model) => model.kind === kind)) {
        const cost = costOf(price, parseInputs(kind, asked));
        assert.ok(Number.isInteger(cost) && cost > 0);
        assert.equal(microsOf(usdOf(cost)), cost);
      }
    }),
  );
});

const cost = (id: string, asked: object) => {
  const { price, kind } = modelOf(id);
  return usdOf(costOf(price, parseInputs(kind, { ...asked })));
};

test("A price goes by resolution and duration, and any other size costs as the next larger one", () => {
  assert.equal(cost("image-standard", { resolution: "512" }), 0.01);
  assert.equal(cost("image-standard", {}), 0.04);
  assert.equal(cost("image-standard", { resolution: "2K" }), 0.12);
  assert.equal(cost("image-draft", {}), 0.005);
  assert.equal(cost("video-standard", {}), 0.1);
  assert.equal(cost("video-standard", { resolution: "1080p", duration: 8 }), 2);
  assert.equal(cost("someone/image-model", { resolution: "513x20" }), 0.04);
  assert.equal(cost("someone/video-model", { resolution: "1280x720", duration: 3 }), 0.3);
  assert.equal(cost("someone/video-model", { resolution: "2048x1200" }), 0.5);
});

test("An unknown model makes films where its id contains video", () => {
  for (const id of ["video", "acme/Text-To-VIDEO-2"]) assert.equal(modelOf(id).kind, "video");
  for (const id of ["vide", "flux-1.1-pro", "toString", "__proto__"]) assert.equal(modelOf(id).kind, "image");
});
