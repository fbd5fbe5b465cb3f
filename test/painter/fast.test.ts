import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { createPainter, type PaintOrder } from "../../lib/drivers/painter/painter.ts";
import { contrast, decode, parseFilm, probe } from "../helpers/decode-media.ts";
import { finishedGeneration, small } from "../helpers/painter.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { world } from "../helpers/test-service.ts";

const picture = { kind: "image", prompt: "a cat on a sofa", format: "png", seed: 1, duration_ms: 0 } as const;
const film = { ...picture, kind: "video", format: "mp4", duration_ms: 1000 } as const;

const painter = createPainter({ threads: 1, media: "fast" });
after(() => painter.close());

const paintAll = (orders: readonly PaintOrder[]) =>
  Promise.all(orders.map(async (order) => ({ order, ...(await painter.paint(order)) })));

test("a placeholder of every format and ratio decodes, has its size, and is not flat", async () => {
  const sizes = [
    [96, 54],
    [54, 96],
    [17, 31],
    [16, 16],
    [200, 16],
  ];
  const formats = ["png", "jpeg", "webp"] as const;
  const prompts = [picture.prompt, "", "\u{1f600} \u00e9t\u00e9 \u6f22", "x".repeat(4000)];
  const orders = sizes.flatMap(([width = 0, height = 0]) =>
    formats.flatMap((format) => prompts.map((prompt) => ({ ...picture, prompt, width, height, format }))),
  );
  for (const { order, bytes, content_type } of await paintAll(orders)) {
    assert.equal(content_type, `image/${order.format}`);
    const seen = await decode(content_type, bytes);
    assert.deepEqual([seen.width, seen.height], [order.width, order.height]);
    assert.ok(contrast(seen) > 8, `${order.width}x${order.height} ${order.format} is nearly flat`);
  }
});

test("a placeholder is the same picture in every format: webp loses nothing, jpeg nearly nothing", async () => {
  const order = { ...picture, prompt: "blue and orange, at dusk", width: 203, height: 101 };
  const [exact, webp, jpeg] = await Promise.all(
    (["png", "webp", "jpeg"] as const).map(async (format) => {
      const { bytes, content_type } = await painter.paint({ ...order, format });
      const { data, channels } = await decode(content_type, bytes);
      return Array.from(
        { length: order.width * order.height * 3 },
        (_, i) => data[Math.floor(i / 3) * channels + (i % 3)] ?? 0,
      );
    }),
  );
  const difference = (other: readonly number[] = []) =>
    other.reduce((sum, value, i) => sum + Math.abs(value - (exact?.[i] ?? 0)), 0) / other.length;
  assert.equal(difference(webp), 0);
  assert.ok(difference(jpeg) < 4, String(difference(jpeg)));
});

test("the same placeholder has the same bytes; another prompt or seed gives others", async () => {
  for (const order of [
    ...(["png", "jpeg", "webp"] as const).map((format) => ({ ...picture, format, width: 160, height: 90 })),
    { ...film, width: 160, height: 90 },
  ]) {
    const [one, again, seed, prompt] = await paintAll([
      order,
      order,
      { ...order, seed: 2 },
      { ...order, prompt: "a dog on a sofa" },
    ]);
    assert.deepEqual(one?.bytes, again?.bytes);
    assert.notDeepEqual(one?.bytes, seed?.bytes);
    assert.notDeepEqual(one?.bytes, prompt?.bytes);
  }
});

test("a placeholder has the prompt's words on it: the same dots for small letters, capitals and accents", async () => {
  const order = { ...picture, prompt: "red", width: 160, height: 90 };
  /** The pixels of the text, as characters. */
  const ink = async (prompt: string) => {
    const { data, width } = await decode("image/png", (await painter.paint({ ...order, prompt })).bytes);
    const dots = Array.from({ length: data.length / 3 }, (_, i) => (data[i * 3 + 2] === 255 ? "#" : "."));
    return Array.from({ length: 90 }, (_, y) => dots.slice(y * width, (y + 1) * width).join("")).join("\n");
  };
  const red = await ink("red");
  assert.match(red, /#{5}/);
  assert.equal(await ink("R\u00c9D"), red);
  assert.notEqual(await ink("blue"), red);
  assert.doesNotMatch(await ink(" "), /#/);
});

test("films of placeholders have their size and length, the index first, and frames that differ", async (t) => {
  const sizes = [
    [160, 90],
    [90, 160],
    [50, 34],
    [16, 16],
  ];
  const folder = folderOf(t);
  for (const { order, bytes, content_type } of await paintAll(
    sizes.map(([width = 0, height = 0]) => ({ ...film, width, height })),
  )) {
    assert.equal(content_type, "video/mp4");
    const { width, height, seconds, frames, boxes } = parseFilm(bytes);
    assert.deepEqual([width, height, seconds, frames.length], [order.width, order.height, 1, 4]);
    assert.deepEqual(boxes, ["ftyp", "moov", "mdat"]);
    // A frame without motion is a dozen bytes; in a tiny film the bar hardly grows.
    assert.ok(width < 64 || frames.every((size) => size > 13), `frames of ${frames.join()} bytes do not all differ`);
    const file = join(folder, `${width}.mp4`);
    writeFileSync(file, bytes);
    const found = probe(file);
    if (found !== undefined) assert.equal(found, `h264,${width},${height},yuv420p,4/1,4`);
  }
});

test("generations.media chooses: fast gives a placeholder, and painted a scene by default", async (t) => {
  const numbers = [];
  for (const generations of [{ media: "fast" }, {}] as const) {
    const here = await world(t, { generations });
    const { output } = await finishedGeneration(here, small);
    const { data } = await decode(
      "image/png",
      new Uint8Array(await (await here.service.fetch(output.url)).arrayBuffer()),
    );
    const colours = Array.from({ length: data.length / 3 }, (_, i) => data.slice(i * 3, i * 3 + 3).join());
    numbers.push(new Set(colours).size);
  }
  const [ofPlaceholder = 0, ofScene = 0] = numbers;
  assert.ok(ofPlaceholder < 100 && ofScene > 200, `a placeholder of ${ofPlaceholder} colours, a scene of ${ofScene}`);
});
