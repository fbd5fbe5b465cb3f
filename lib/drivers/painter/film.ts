import { Canvas } from "./canvas.ts";
import { encodeFilm } from "./film-encoder.ts";
import type { PaintOrder } from "./painter.ts";
import { sceneOf } from "./scene.ts";
import { toneMap } from "./tone-mapping.ts";
import { blend, lightenYuv, scaledUp, yuvOf } from "./yuv.ts";

const framesPerSecond = 24;
/** Every sixth frame is painted, four per second. The frames between are blended, because everything moves slowly. */
const paintedEvery = 6;
/** The most pixels painted per frame. Larger films are scaled up, because clouds and water are soft. */
const maxPixels = 160_000;

export function renderFilm(order: PaintOrder): Promise<Uint8Array> {
  const { prompt, seed, width, height } = order;
  const scene = sceneOf(prompt, seed);
  const scale = Math.min(1, Math.sqrt(maxPixels / (width * height)));
  const [across, down] = [2 * Math.round((width * scale) / 2), 2 * Math.round((height * scale) / 2)];
  const canvas = new Canvas(across, down);
  const paint = (frame: number) => {
    scene.paint(canvas, frame / framesPerSecond);
    return scaledUp(yuvOf(toneMap(canvas)), width, height);
  };
  const shown = { data: new Uint8Array(width * height * 1.5), width, height };
  let [before, after] = [paint(0), paint(paintedEvery)];
  return encodeFilm(order, framesPerSecond, (frame) => {
    if (frame > 0 && frame % paintedEvery === 0) [before, after] = [after, paint(frame + paintedEvery)];
    blend(shown, before, after, (frame % paintedEvery) / paintedEvery);
    scene.drawPrecipitation(shown, frame / framesPerSecond, lightenYuv(shown));
    return shown;
  });
}
