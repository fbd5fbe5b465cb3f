import { writeFileSync } from "node:fs";
import { createPainter, type Painter } from "../lib/drivers/painter/painter.ts";
import { png } from "../lib/drivers/painter/png.ts";
import { decode } from "../test/helpers/decode-media.ts";

/** Twenty prompts: subjects and weather that the painter knows, colours, shapes, and unknown things. */
const prompts = [
  "snowy mountains",
  "a mountain lake at dawn",
  "blue and orange",
  "geometric shapes in red and yellow",
  "snow falling over a forest",
  "a cat on a sofa",
  "a red car",
  "a city at night",
  "portrait of a woman in green",
  "a forest in autumn",
  "the sea at sunset",
  "desert dunes at noon",
  "northern lights over a frozen lake",
  "a galaxy with a ringed planet",
  "rolling green hills in the mist",
  "a storm over the ocean",
  "purple and gold abstract swirls",
  "a golden retriever in a meadow",
  "a starry night",
  "a neon street in the rain",
];
const [tile, caption, columns] = [320, 48, 5];
const [file = "contact-sheet.png"] = process.argv.slice(2);

// A picture's caption is a placeholder of its prompt.
const [painter, captions] = [createPainter(), createPainter({ media: "fast" })];
const order = { kind: "image", format: "png", seed: 0, duration_ms: 0 } as const;
const rows = Math.ceil(prompts.length / columns);
const sheet = new Uint8ClampedArray(columns * tile * rows * (tile + caption) * 4).fill(255);
const place = async ({ paint }: Painter, prompt: string, height: number, i: number, below = 0) => {
  const [width, left, top] = [tile, (i % columns) * tile, Math.floor(i / columns) * (tile + caption) + below];
  const { bytes, content_type } = await paint({ ...order, prompt, width, height });
  const { data } = await decode(content_type, bytes);
  for (let at = 0; at < width * height; at++) {
    const to = ((top + Math.floor(at / width)) * columns * tile + left + (at % width)) * 4;
    sheet.set(data.subarray(at * 3, at * 3 + 3), to);
  }
};
await Promise.all(
  prompts.flatMap((prompt, i) => [place(painter, prompt, tile, i), place(captions, prompt, caption, i, tile)]),
);
await Promise.all([painter.close(), captions.close()]);
writeFileSync(file, png({ data: sheet, width: columns * tile, height: rows * (tile + caption) }));
console.log(`${prompts.length} prompts, painted into ${file}`);
