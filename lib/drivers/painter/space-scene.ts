import { type Canvas, type Colour, hex, mix, sum, times } from "./canvas.ts";
import { smoothstep } from "./interpolation.ts";
import { NoiseField } from "./noise-field.ts";
import type { PromptHints } from "./prompt-words.ts";
import { between, pick, type Random } from "./random.ts";
import { paintStars, starsOf } from "./stars-and-aurora.ts";

type Three = readonly [Colour, Colour, Colour];
const three = (...[one, two, last]: [string, string, string]): Three => [hex(one), hex(two), hex(last)];

const clouds = [
  three("#1a2a7a", "#b03a8c", "#f0a060"),
  three("#0c4a6e", "#2a9c9c", "#e8d8a0"),
  three("#3a1a6e", "#c83c5a", "#ffb070"),
  three("#0a2a5a", "#4a6ad8", "#d8a0e8"),
] as const;
const grounds = [
  three("#c8a078", "#8a5a3c", "#e8d4b0"),
  three("#3a6a9c", "#9cc4d8", "#e8f0f0"),
  three("#a84c34", "#6a2a20", "#e09c70"),
  three("#5a8a7a", "#2a4a5a", "#c8e0c0"),
  three("#8a7ac8", "#4a3a7a", "#e0c8f0"),
] as const;

/** The light where nothing shines, in the sky and on the dark side of a planet. */
const night: Colour = [0.001, 0.0015, 0.004];
const glimmer: Colour = [0.002, 0.002, 0.002];

/** A nebula with stars, and in front a planet with an atmosphere, bands, and often rings. */
export function spaceOf(
  random: Random,
  { colours, rings = false }: PromptHints,
): (canvas: Canvas, time: number) => void {
  const field = new NoiseField(random, 512, 3, 7);
  const cloud = pick(random, clouds);
  const [first, last] = [colours?.[0], colours?.at(-1)].map((colour) => colour && hex(colour));
  const lean = (own: Colour, colour: Colour | "" | undefined) => (colour ? mix(own, colour, 0.4) : own);
  const [deep, middle, bright]: Three = [lean(cloud[0], first), lean(cloud[1], first), lean(cloud[2], last)];
  const stars = starsOf(random, 1500);
  const sun: Colour = [-0.62 * (random() < 0.5 ? -1 : 1), between(random, -0.6, 0.1), 0.55];
  const planet = planetOf(random, field, sun, rings);
  return (canvas, time) => {
    const { width, height, unit } = canvas;
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++, at += 3) {
        const [u, v] = [(x / unit) * 0.5 + time * 0.0012, (y / unit) * 0.5];
        const warp = field.at(u * 0.8, v * 0.8) - 0.5;
        const gas = field.at(u + warp * 0.5, v - warp * 0.4);
        const veil = field.at(u * 1.9 - warp * 0.6 + 0.3, v * 1.9 + warp * 0.5);
        const thick = smoothstep(0.4, 0.78, gas);
        const hot = smoothstep(0.5, 0.8, veil) * thick;
        const dust = 1 - 0.75 * smoothstep(0.5, 0.64, field.at(u * 1.3 + 0.6, v * 1.3 - warp * 0.3)) * (1 - hot);
        const faint = 0.5 * thick * smoothstep(0.35, 0.65, veil) * dust;
        const cloud = sum(deep, (0.04 + 0.3 * thick) * dust, middle, faint);
        canvas.set(at, sum(sum(cloud, 1, bright, 0.75 * hot ** 1.5), 1, night, 1));
      }
    }
    paintStars(canvas, stars, height, time, false);
    planet(canvas, time);
  };
}

function planetOf(
  random: Random,
  field: NoiseField,
  sun: Colour,
  rings: boolean,
): (canvas: Canvas, time: number) => void {
  const [ground, dark, pale] = pick(random, grounds);
  const [size, left, top] = [between(random, 0.17, 0.3), between(random, 0.28, 0.72), between(random, 0.36, 0.66)];
  const [banded, ringed, tilt] = [random() < 0.6, random() < 0.55 || rings, between(random, -0.45, 0.45)];
  const air = mix(pale, [0.4, 0.6, 1], 0.5);
  const ice: Colour = [pale[0] * 0.8, pale[1] * 0.75, pale[2] * 0.7];
  const [cos, sin] = [Math.cos(tilt), Math.sin(tilt)];
  const length = Math.hypot(...sun);
  return (canvas, time) => {
    const { width, height, unit } = canvas;
    const radius = size * unit;
    const [x0, y0] = [left * width, top * height];
    for (let y = Math.max(0, Math.floor(y0 - radius * 2.2)); y < Math.min(height, y0 + radius * 2.2); y++) {
      for (let x = Math.max(0, Math.floor(x0 - radius * 2.2)); x < Math.min(width, x0 + radius * 2.2); x++) {
        const [px, py] = [(x - x0) / radius, (y - y0) / radius];
        const [u, v] = [px * cos + py * sin, py * cos - px * sin];
        const away = u * u + v * v;
        const at = (y * width + x) * 3;
        if (away < 1) {
          const depth = Math.sqrt(1 - away);
          const day = smoothstep(-0.12, 0.85, (px * sun[0] + py * sun[1] + depth * sun[2]) / length);
          const turn = Math.atan2(u, depth) * 0.16 + time * 0.004;
          const storm = field.at(turn * 1.5, v * 0.6) - 0.5;
          const tone = banded
            ? field.at(turn * 0.15 + storm * 0.03, v * 0.9 + storm * 0.12)
            : field.at(turn * 2.2 + storm * 0.3, v * 0.55);
          const one = smoothstep(0.4, 0.6, tone);
          const two = smoothstep(0.56, 0.72, tone + storm * 0.2);
          const rim = (1 - depth) ** 3 * day * 0.9;
          const edge = Math.min(1, (1 - Math.sqrt(away)) * radius);
          const surface = mix(mix(dark, ground, one), pale, two);
          canvas.cover(at, sum(sum(times(surface, day), 0.95, air, rim), 1, glimmer, 1), edge);
        } else {
          const side = (px * sun[0] + py * sun[1]) / length / Math.sqrt(away);
          canvas.add(at, air, Math.exp((1 - Math.sqrt(away)) * 26) * 0.45 * smoothstep(-0.4, 0.9, side));
        }
        const ring = Math.hypot(u, v * 3.4);
        if (!ringed || ring < 1.3 || ring > 2.15 || (away < 1 && v < 0)) continue;
        const gap = 1 - 0.85 * smoothstep(0.03, 0, Math.abs(ring - 1.78));
        const veil =
          smoothstep(1.3, 1.36, ring) * smoothstep(2.15, 2.05, ring) * gap * (0.35 + 0.6 * field.at(ring * 1.3, 0.3));
        const shadow =
          u * sun[0] + v * sun[1] < -0.2 && Math.abs(v * sun[0] - u * sun[1]) < length * 0.75 && away > 1 ? 0.15 : 1;
        canvas.cover(at, times(ice, shadow), veil);
      }
    }
  };
}
