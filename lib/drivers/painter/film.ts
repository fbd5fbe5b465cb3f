import { createRequire } from "node:module";
import { Canvas } from "./canvas.ts";
import { withIndexFirst } from "./mp4-faststart.ts";
import type { PaintOrder } from "./painter.ts";
import { sceneOf } from "./scene.ts";
import { toneMap } from "./tone-mapping.ts";
import { blend, lightenYuv, scaledUp, yuvOf } from "./yuv.ts";

const framesPerSecond = 24;
/** Every sixth frame is painted, four a second, and those between are blended: everything here moves slowly. */
const paintedEvery = 6;
/** The most pixels painted a frame; larger films are scaled up, since clouds and water are soft. */
const maxPixels = 160_000;

/** Paints and encodes a film, frame by frame. */
export async function renderFilm({ prompt, seed, width, height, duration_ms }: PaintOrder): Promise<Uint8Array> {
  const scene = sceneOf(prompt, seed);
  const scale = Math.min(1, Math.sqrt(maxPixels / (width * height)));
  const [across, down] = [2 * Math.round((width * scale) / 2), 2 * Math.round((height * scale) / 2)];
  const canvas = new Canvas(across, down);
  const paint = (frame: number) => {
    scene.paint(canvas, frame / framesPerSecond);
    return scaledUp(yuvOf(toneMap(canvas)), width, height);
  };
  const shown = { data: new Uint8Array(width * height * 1.5), width, height };
  const encoder = await encoderOf(width, height);
  try {
    let [before, after] = [paint(0), paint(paintedEvery)];
    for (let frame = 0; frame < Math.round((duration_ms * framesPerSecond) / 1000); frame++) {
      if (frame > 0 && frame % paintedEvery === 0) [before, after] = [after, paint(frame + paintedEvery)];
      blend(shown, before, after, (frame % paintedEvery) / paintedEvery);
      scene.drawPrecipitation(shown, frame / framesPerSecond, lightenYuv(shown));
      // The encoder copies its input byte by byte, and a YUV frame has a third of the bytes of RGBA.
      encoder.addFrameYuv(shown.data);
    }
    encoder.finalize();
    return withIndexFirst(Buffer.from(encoder.FS.readFile(encoder.outputFilename)));
  } finally {
    encoder.FS.unlink(encoder.outputFilename);
    encoder.delete();
  }
}

async function encoderOf(width: number, height: number) {
  // A CommonJS module without named exports. It is large, so only films load it.
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
