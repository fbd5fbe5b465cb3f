import { createRequire } from "node:module";
import { Canvas, type Frame } from "./canvas.ts";
import { withIndexFirst } from "./mp4-faststart.ts";
import type { PaintOrder } from "./painter.ts";
import { sceneOf } from "./scene.ts";
import { toneMap } from "./tone-mapping.ts";

const framesPerSecond = 24;
/** Every third frame is painted, eight a second, and those between are blended: everything here moves slowly. */
const paintedEvery = 3;
/** The most pixels painted a frame; larger films are scaled up, since clouds and water are soft. */
const maxPixels = 420_000;

/** Paints and encodes a film, frame by frame. */
export async function renderFilm({ prompt, seed, width, height, duration_ms }: PaintOrder): Promise<Uint8Array> {
  const scene = sceneOf(prompt, seed);
  const scale = Math.min(1, Math.sqrt(maxPixels / (width * height)));
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  const canvas = new Canvas(across, down);
  const paint = (frame: number) => {
    scene.paint(canvas, frame / framesPerSecond);
    return toneMap(canvas);
  };
  const blend = blender(across, down, width, height);
  const encoder = await encoderOf(width, height);
  try {
    let [before, after] = [paint(0), paint(paintedEvery)];
    for (let frame = 0; frame < Math.round((duration_ms * framesPerSecond) / 1000); frame++) {
      if (frame > 0 && frame % paintedEvery === 0) [before, after] = [after, paint(frame + paintedEvery)];
      const shown = blend(before, after, (frame % paintedEvery) / paintedEvery);
      scene.drawPrecipitation(shown, frame / framesPerSecond);
      encoder.addFrameRgba(shown.data);
    }
    encoder.finalize();
    return withIndexFirst(Buffer.from(encoder.FS.readFile(encoder.outputFilename)));
  } finally {
    encoder.FS.unlink(encoder.outputFilename);
    encoder.delete();
  }
}

async function encoderOf(width: number, height: number) {
  // CommonJS, whose names an import cannot know; and large, so only films load it.
  const h264: typeof import("h264-mp4-encoder") = createRequire(import.meta.url)("h264-mp4-encoder");
  const encoder = await h264.createH264MP4Encoder();
  Object.assign(encoder, {
    width,
    height,
    frameRate: framesPerSecond,
    groupOfPictures: framesPerSecond,
    quantizationParameter: 24,
    speed: 10,
  });
  encoder.initialize();
  return encoder;
}

/** Blends two frames and scales the result up, into the same frame each time. */
function blender(across: number, down: number, width: number, height: number) {
  const mixed = new Float32Array(across * down * 4);
  const shown: Frame = { data: new Uint8ClampedArray(width * height * 4), width, height };
  const at = (to: number, small: number, large: number) =>
    Math.min(small - 1, Math.max(0, ((to + 0.5) * small) / large - 0.5));
  const columns = Float32Array.from({ length: width }, (_, x) => at(x, across, width));
  return ({ data: one }: Frame, { data: other }: Frame, part: number): Frame => {
    for (let i = 0; i < mixed.length; i++)
      mixed[i] = (one[i] as number) + ((other[i] as number) - (one[i] as number)) * part;
    for (let y = 0, to = 0; y < height; y++) {
      const row = at(y, down, height);
      const upper = Math.floor(row);
      const fy = row - upper;
      const below = upper + 1 < down ? across * 4 : 0;
      for (let x = 0; x < width; x++, to += 4) {
        const column = columns[x] as number;
        const left = Math.floor(column);
        const fx = column - left;
        const right = left + 1 < across ? 4 : 0;
        for (let channel = 0, from = (upper * across + left) * 4; channel < 3; channel++, from++) {
          const above = (mixed[from] as number) * (1 - fx) + (mixed[from + right] as number) * fx;
          const under = (mixed[from + below] as number) * (1 - fx) + (mixed[from + below + right] as number) * fx;
          shown.data[to + channel] = above * (1 - fy) + under * fy;
        }
      }
    }
    return shown;
  };
}
