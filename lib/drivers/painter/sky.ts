import { type Canvas, mix, sum, times } from "./canvas.ts";
import { smoothstep } from "./interpolation.ts";
import type { Lighting } from "./lighting.ts";
import type { NoiseField } from "./noise-field.ts";
import type { PromptHints } from "./prompt-words.ts";
import { between, type Random } from "./random.ts";
import { paintAurora, paintMilkyWay, paintStars, type Star, starsOf } from "./stars-and-aurora.ts";

export interface Sky {
  readonly lighting: Lighting;
  /** The position of sun or moon, as fractions of the width and of the sky's height from the top. */
  readonly sunX: number;
  readonly sunY: number;
  readonly disc: boolean;
  /** How much of the sky the clouds cover, from 0 to 1. */
  readonly clouds: number;
  /** The drift of the clouds, in units per second. */
  readonly wind: number;
  readonly field: NoiseField;
  readonly stars: readonly Star[];
  readonly milkyWay: boolean;
  readonly aurora: boolean;
}

export function skyOf(lighting: Lighting, random: Random, field: NoiseField, hints: PromptHints): Sky {
  const sunX = between(random, 0.18, 0.82);
  return {
    lighting,
    sunX,
    sunY: 1 - lighting.elevation,
    clouds: hints.clouds ?? between(random, 0.1, 0.6),
    field,
    wind: between(random, 0.008, 0.014) * (random() < 0.5 ? -1 : 1),
    stars: starsOf(random, hints.stars ? 1600 : 700),
    milkyWay: hints.stars ?? false,
    aurora: hints.aurora ?? false,
    disc: !hints.storm && (!lighting.isNight || hints.moon === true || !(hints.stars || hints.aurora)),
  };
}

/** Paints all rows above the row `horizon`. */
export function paintSky(canvas: Canvas, sky: Sky, horizon: number, time: number): void {
  paintAir(canvas, sky, horizon);
  const { lighting, field, stars } = sky;
  if (lighting.isNight) {
    if (sky.milkyWay) paintMilkyWay(canvas, field, horizon);
    paintStars(canvas, stars, horizon, time);
    if (sky.aurora) paintAurora(canvas, field, horizon, time);
  }
  if (sky.disc) paintDisc(canvas, sky, horizon);
  if (sky.clouds > 0) paintClouds(canvas, sky, horizon, time);
}

function paintAir(canvas: Canvas, { lighting, sunX, sunY, disc }: Sky, horizon: number): void {
  const { width, unit } = canvas;
  const { zenith, middle, horizon: low, light } = lighting;
  const glow = disc ? lighting.glow : 0;
  const wide = lighting.isNight ? 0.16 : 0.5;
  const [x0, y0] = [sunX * width, sunY * horizon];
  let at = 0;
  for (let y = 0; y < horizon; y++) {
    const up = 1 - y / horizon;
    const one = mix(low, middle, smoothstep(0, 0.42, up));
    const row = mix(one, zenith, smoothstep(0.2, 1, up));
    const dy = ((y - y0) / unit) ** 2;
    for (let x = 0; x < width; x++, at += 3) {
      const distance = ((x - x0) / unit) ** 2 + dy;
      const warm = glow * (wide / (1 + distance * 14) + 0.45 / (1 + distance * 160));
      const air = 1 - warm * 0.35;
      canvas.set(at, sum(row, air, light, warm));
    }
  }
}

function paintDisc(canvas: Canvas, { lighting, sunX, sunY }: Sky, horizon: number): void {
  const { width, unit } = canvas;
  const radius = unit * (lighting.isNight ? 0.035 : 0.042);
  const [x0, y0] = [sunX * width, sunY * horizon];
  const bright = lighting.isNight ? 1.5 : 2.2 * Math.min(1, lighting.glow + 0.1);
  for (let y = Math.max(0, Math.floor(y0 - radius - 1)); y < Math.min(horizon, y0 + radius + 2); y++) {
    for (let x = Math.max(0, Math.floor(x0 - radius - 1)); x < Math.min(width, x0 + radius + 2); x++) {
      const part = smoothstep(radius + 0.8, radius - 0.8, Math.hypot(x - x0, y - y0));
      if (part > 0) canvas.cover((y * width + x) * 3, times(lighting.light, bright), part);
    }
  }
}

/** Clouds on a flat layer: small and dense far away, wide overhead, lit by the sun. */
function paintClouds(
  canvas: Canvas,
  { lighting, sunX, sunY, clouds, field, wind }: Sky,
  horizon: number,
  time: number,
): void {
  const { width, unit } = canvas;
  const { cloudLit: lit, cloudShade: shade, horizon: haze } = lighting;
  const [x0, y0] = [sunX * width, sunY * horizon];
  const threshold = 0.62 - clouds * 0.3;
  for (let y = 0; y < horizon; y++) {
    const height = (horizon - y) / unit;
    const far = 0.35 / (height + 0.16);
    const v = far * 0.62;
    const near = smoothstep(0, 0.3, height);
    for (let x = 0; x < width; x++) {
      const across = (x - width / 2) / unit;
      const u = across * far * 0.42 + time * wind;
      const warp = field.at(u * 0.5 + 0.3, v * 0.5 - time * wind * 0.3) - 0.5;
      const place = field.at(u + warp * 0.2, v + warp * 0.15);
      const detail = field.at(u * 3.1 - time * wind, v * 3.1 + 0.4) - 0.5;
      const density = place + detail * 0.28;
      const part = smoothstep(threshold, threshold + 0.16, density);
      if (part <= 0.004) continue;
      const [dx, dy] = [(x0 - x) / unit, (y0 - y) / unit];
      const away = 0.035 / (Math.abs(dx) + Math.abs(dy) + 0.35);
      const towards = field.at(u + warp * 0.2 + dx * away, v + warp * 0.15 - dy * away);
      const bright = smoothstep(-0.09, 0.13, place - towards + detail * 0.1) * (1 - 0.35 * part) + 0.1;
      const rim = (0.6 / (1 + (dx * dx + dy * dy) * 26)) * (1 - part * 0.6) * lighting.glow;
      const air = 0.25 + 0.75 * near;
      const colour = sum(mix(haze, mix(shade, lit, bright), air), 1, lighting.light, rim);
      canvas.cover((y * width + x) * 3, colour, part * (0.35 + 0.6 * near));
    }
  }
}
