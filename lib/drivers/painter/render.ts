import { Canvas, type Frame } from "./canvas.ts";
import { renderFilm } from "./film.ts";
import { jpeg, webp } from "./image-codecs.ts";
import { frameOf } from "./indexed-picture.ts";
import type { Painted, PaintOrder, WorkerOrder } from "./painter.ts";
import { placeholder, placeholderFilm } from "./placeholder.ts";
import { indexedPng, png } from "./png.ts";
import { sceneOf } from "./scene.ts";
import { lightenFrame } from "./snow-and-rain.ts";
import { toneMap } from "./tone-mapping.ts";

const encoders = { png, jpeg, webp };

/** Makes the picture or film of an order, in its format. */
export async function render(order: WorkerOrder): Promise<Painted> {
  const { format, media } = order;
  const isFast = media === "fast";
  if (format === "mp4")
    return { bytes: await (isFast ? placeholderFilm : renderFilm)(order), content_type: "video/mp4" };
  const content_type = `image/${format}` as const;
  if (isFast && format === "png") return { bytes: indexedPng(placeholder(order)), content_type };
  const frame = isFast ? frameOf(placeholder(order)) : paintedFrame(order);
  return { bytes: await encoders[format](frame, isFast), content_type };
}

function paintedFrame({ prompt, seed, width, height }: PaintOrder): Frame {
  const canvas = new Canvas(width, height);
  const scene = sceneOf(prompt, seed);
  scene.paint(canvas, 0);
  const frame = toneMap(canvas);
  scene.drawPrecipitation(frame, 0, lightenFrame(frame));
  return frame;
}
