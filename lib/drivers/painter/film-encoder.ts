import { createRequire } from "node:module";
import { withIndexFirst } from "./mp4-faststart.ts";
import type { PaintOrder } from "./painter.ts";
import type { YuvFrame } from "./yuv.ts";

/** Encodes a film as MP4. `draw` is called for each frame, from 0 up to `count`, and may reuse one frame object. */
export async function encodeFilm(
  { width, height, duration_ms }: PaintOrder,
  framesPerSecond: number,
  draw: (frame: number, count: number) => YuvFrame,
): Promise<Uint8Array> {
  const encoder = await encoderOf(width, height, framesPerSecond);
  try {
    const count = Math.round((duration_ms * framesPerSecond) / 1000);
    // The encoder copies its input byte by byte. A YUV frame has about a third of the bytes of RGBA.
    for (let frame = 0; frame < count; frame++) encoder.addFrameYuv(draw(frame, count).data);
    encoder.finalize();
    return withIndexFirst(Buffer.from(encoder.FS.readFile(encoder.outputFilename)));
  } finally {
    encoder.FS.unlink(encoder.outputFilename);
    encoder.delete();
  }
}

async function encoderOf(width: number, height: number, framesPerSecond: number) {
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
