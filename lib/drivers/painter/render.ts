import { Canvas } from "./canvas.ts";
import { renderFilm } from "./film.ts";
import { jpeg, webp } from "./image-codecs.ts";
import type { Painted, PaintOrder } from "./painter.ts";
import { png } from "./png.ts";
import { sceneOf } from "./scene.ts";
import { toneMap } from "./tone-mapping.ts";

const encoders = { png, jpeg, webp };

/** Paints an order and encodes it in its format. */
export async function render(order: PaintOrder): Promise<Painted> {
  if (order.format === "mp4") return { bytes: await renderFilm(order), content_type: "video/mp4" };
  const { prompt, seed, width, height, format } = order;
  const canvas = new Canvas(width, height);
  const scene = sceneOf(prompt, seed);
  scene.paint(canvas, 0);
  const frame = toneMap(canvas);
  scene.drawPrecipitation(frame, 0);
  return { bytes: await encoders[format](frame), content_type: `image/${format}` };
}
