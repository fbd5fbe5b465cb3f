import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createPainter, type Media } from "../../lib/drivers/painter/painter.ts";
import { hintsOf, isUnderstood } from "../../lib/drivers/painter/prompt-words.ts";
import { decode } from "../helpers/decode-media.ts";

const painters = {
  painted: createPainter({ threads: 1 }),
  fast: createPainter({ threads: 1, media: "fast" }),
};
after(() => Promise.all(Object.values(painters).map(({ close }) => close())));

/** The hues of the clearly coloured pixels of a picture, in degrees, row by row. */
async function huesOf(media: Media, prompt: string) {
  const order = { kind: "image", format: "png", seed: 3, duration_ms: 0, width: 96, height: 96, prompt } as const;
  const { data } = await decode("image/png", (await painters[media].paint(order)).bytes);
  return Array.from({ length: data.length / 3 }, (_, i) => {
    const [red = 0, green = 0, blue = 0] = data.subarray(i * 3, i * 3 + 3);
    const [high, low] = [Math.max(red, green, blue), Math.min(red, green, blue)];
    if (high - low < 30) return undefined;
    const [from, next] = high === red ? [0, green - blue] : high === green ? [120, blue - red] : [240, red - green];
    return (from + (60 * next) / (high - low) + 360) % 360;
  });
}

const partOf = (hues: readonly (number | undefined)[], near: number) =>
  hues.filter((hue) => hue !== undefined && Math.abs(((hue - near + 540) % 360) - 180) < 25).length / hues.length;

test("every colour that a prompt names is in the picture", async () => {
  for (const media of ["painted", "fast"] as const)
    for (const [prompt, ...wanted] of [
      ["blue and orange", 222, 25],
      ["purple and gold abstract swirls", 270, 48],
      ["geometric shapes in red and yellow", 0, 48],
    ] as const) {
      const hues = await huesOf(media, prompt);
      for (const hue of wanted)
        assert.ok(partOf(hues, hue) > 0.08, `${media}: "${prompt}" has little of ${hue} degrees`);
    }
});

test("an unknown subject becomes an abstract picture in the prompt's colour, above and below", async () => {
  for (const prompt of ["a red car", "a red cat by a lake", "a red city bus", "portrait of a woman in red"]) {
    const hues = await huesOf("painted", prompt);
    for (const half of [hues.slice(0, hues.length / 2), hues.slice(hues.length / 2)])
      assert.ok(partOf(half, 0) > 0.4, `"${prompt}" has little red in a half`);
  }
});

test("the subject of a prompt is the last noun of its first phrase", () => {
  const known = [
    ...[
      "snowy mountains",
      "a mountain lake at dawn",
      "Snow falling over a village",
      "northern lights",
      "the night sky",
    ],
    ...[
      "photo of a city, with a dragon",
      "blue and orange mountains",
      "A frozen lake with a boat",
      "waves crashing on rocks",
    ],
  ];
  const unknown = [
    ...["a cat on a sofa", "a car", "a cat by a lake", "a city bus", "polar bear", "golden retriever in a meadow", ""],
    ...[
      "blue and orange",
      "portrait of a woman in a garden",
      "a boat",
      "an astronaut in space",
      "\u{1f600}",
      "the car is bright",
    ],
  ];
  assert.deepEqual(
    known.filter((prompt) => !isUnderstood(prompt)),
    [],
  );
  assert.deepEqual(unknown.filter(isUnderstood), []);
});

test("snow falls if the prompt says so, else it lies on the ground", () => {
  assert.equal(hintsOf("snow falling over a forest").falling, "snow");
  assert.equal(hintsOf("snowfall").falling, "snow");
  assert.equal(hintsOf("snowy mountains").falling, undefined);
  assert.equal(hintsOf("falling leaves").falling, undefined);
});
