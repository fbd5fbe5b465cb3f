import { Canvas, type Frame } from "./canvas.ts";
import { renderFilm } from "./film.ts";
import { imageEncoders } from "./image-codecs.ts";
import type { Painted, PaintOrder, WorkerOrder } from "./painter.ts";
import { placeholder, placeholderFilm } from "./placeholder.ts";
import { sceneOf } from "./scene.ts";
import { lightenFrame } from "./snow-and-rain.ts";
import { toneMap } from "./tone-mapping.ts";

export async function render(order: Omit<WorkerOrder, "stopGuard">): Promise<Painted> {
  const { format, media } = order;
  const isFast = media === "fast";
  if (format === "mp4")
    return { bytes: await (isFast ? placeholderFilm : renderFilm)(order), content_type: "video/mp4" };
  const content_type = `image/${format}` as const;
  const bytes = await imageEncoders[format]((isFast ? placeholder : paintedFrame)(order), media);
  return { bytes, content_type };
}

function paintedFrame({ prompt, seed, width, height }: PaintOrder): Frame {
  const canvas = new Canvas(width, height);
  const scene = sceneOf(prompt, seed);
  scene.paint(canvas, 0);
  const frame = toneMap(canvas);
  scene.drawPrecipitation(frame, 0, lightenFrame(frame));
  return frame;
}
