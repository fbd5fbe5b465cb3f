import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { createPainter, type PaintOrder } from "../../lib/drivers/painter/painter.ts";
import { contrast, decode, parseFilm, probe } from "../helpers/decode-media.ts";
import { folderOf } from "../helpers/temporary-store.ts";

const picture = { kind: "image", prompt: "mountains at a lake", format: "png", seed: 1, duration_ms: 0 } as const;
const film = { ...picture, kind: "video", format: "mp4", duration_ms: 1000 } as const;

// One painter for all tests: a thread from the sources takes half a second to start.
const painter = createPainter({ threads: 2 });
after(() => painter.close());

const paintAll = (orders: readonly PaintOrder[]) =>
  Promise.all(orders.map(async (order) => ({ order, ...(await painter.paint(order)) })));

test("every format in every ratio decodes, has its size, and is not flat", async () => {
  const sizes = [
    [64, 64],
    [96, 54],
    [54, 96],
    [64, 48],
    [48, 64],
    [72, 48],
    [48, 72],
    [17, 31],
    [16, 16],
    [200, 16],
  ];
  const formats = ["png", "jpeg", "webp"] as const;
  const orders = sizes.flatMap(([width = 0, height = 0]) =>
    formats.map((format) => ({ ...picture, width, height, format })),
  );
  for (const { order, bytes, content_type } of await paintAll(orders)) {
    assert.equal(content_type, `image/${order.format}`);
    const seen = await decode(content_type, bytes);
    assert.deepEqual([seen.width, seen.height], [order.width, order.height]);
    assert.ok(contrast(seen) > 8, `${order.width}x${order.height} ${order.format} is nearly flat`);
  }
});

test("the largest picture has its size", async () => {
  const [largest] = await paintAll([{ ...picture, width: 2048, height: 2048, format: "jpeg" }]);
  const { width, height } = await decode("image/jpeg", largest?.bytes ?? new Uint8Array());
  assert.deepEqual([width, height], [2048, 2048]);
});

test("every subject and every weather is not flat, and no two prompts give the same picture", async () => {
  const prompts = [
    ...[
      "mountains",
      "hills",
      "forest",
      "autumn forest",
      "desert",
      "city at night",
      "neon city",
      "sea",
      "tropical beach",
    ],
    ...["galaxy", "planet", "abstract", "aurora", "starry night", "moonlight", "dawn", "noon", "golden hour", "sunset"],
    ...[
      "dusk",
      "storm",
      "rain",
      "fog",
      "snow",
      "snowfall",
      "a red thing",
      "a cat in a hat",
      "",
      "\u{1f600}",
      "x".repeat(4000),
    ],
  ];
  const orders = prompts.map((prompt) => ({ ...picture, prompt, width: 96, height: 64 }));
  const painted = await paintAll(orders);
  for (const { order, bytes, content_type } of painted)
    assert.ok(contrast(await decode(content_type, bytes)) > 8, `"${order.prompt}" is nearly flat`);
  assert.equal(new Set(painted.map(({ bytes }) => Buffer.from(bytes).toString("latin1"))).size, prompts.length);
});

test("films have their size and length, the index first, and frames that differ", async (t) => {
  const sizes = [
    [128, 72],
    [72, 128],
    [64, 64],
    [64, 48],
    [50, 34],
    [16, 16],
  ];
  const orders = sizes.map(([width = 0, height = 0]) => ({ ...film, width, height }));
  const folder = folderOf(t);
  for (const { order, bytes, content_type } of await paintAll(orders)) {
    assert.equal(content_type, "video/mp4");
    const { width, height, seconds, frames, boxes } = parseFilm(bytes);
    assert.deepEqual([width, height, seconds, frames.length], [order.width, order.height, 1, 24]);
    assert.deepEqual(boxes, ["ftyp", "moov", "mdat"]);
    // A frame without motion is a dozen bytes; in a tiny film nothing moves.
    const moving = frames.filter((size) => size > 20).length;
    assert.ok(moving >= 20 || width < 64, `only ${moving} frames of ${width}x${height} differ from the one before`);
    const file = join(folder, `${width}.mp4`);
    writeFileSync(file, bytes);
    const found = probe(file);
    if (found !== undefined) assert.equal(found, `h264,${width},${height},yuv420p,24/1,24`);
  }
});

test("the same film has the same bytes; another seed or length gives others", async () => {
  const order = { ...film, width: 64, height: 36 };
  const [one, again, seed, longer] = await paintAll([
    order,
    order,
    { ...order, seed: 2 },
    { ...order, duration_ms: 1500 },
  ]);
  assert.deepEqual(one?.bytes, again?.bytes);
  assert.notDeepEqual(one?.bytes, seed?.bytes);
  assert.equal(parseFilm(longer?.bytes ?? new Uint8Array()).frames.length, 36);
});

test("a film lists its key frames, one a second, so that a player can seek", async () => {
  const [threeSeconds] = await paintAll([{ ...film, width: 16, height: 16, duration_ms: 3000 }]);
  assert.deepEqual(parseFilm(threeSeconds?.bytes ?? new Uint8Array()).keyFrames, [1, 25, 49]);
});
