import { type Canvas, type Colour, hex, mix } from "./canvas.ts";
import { smoothstep } from "./interpolation.ts";
import type { NoiseField } from "./noise-field.ts";
import { between, type Random } from "./random.ts";

/** A star: its position as fractions of the sky, and its twinkle. */
export interface Star {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly strength: number;
  readonly colour: Colour;
  readonly phase: number;
}

export const starsOf = (random: Random, count: number): Star[] =>
  Array.from({ length: count }, () => ({
    x: random(),
    y: random(),
    size: 0.5 + 1.3 * random() ** 6,
    strength: 0.15 + 1.6 * random() ** 4,
    colour: mix([0.7, 0.8, 1], [1, 0.85, 0.65], random()),
    phase: between(random, 0, 6.28),
  }));

/** Paints stars above a row. With `air` they fade near that row. */
export function paintStars(canvas: Canvas, stars: readonly Star[], bottom: number, time: number, air = true): void {
  const { width, unit } = canvas;
  const scale = Math.max(0.7, unit / 1100);
  for (const { x, y, size, strength, colour, phase } of stars) {
    const twinkle = 0.8 + 0.2 * Math.sin(phase + time * (2 + phase));
    const clear = air ? 1 - smoothstep(0.75, 1, y) : 1;
    canvas.spot(x * width, y * bottom, size * scale, colour, strength * twinkle * clear, bottom);
  }
}

/** The band of the Milky Way across the sky, with its dark clouds. */
export function paintMilkyWay(canvas: Canvas, field: NoiseField, bottom: number): void {
  const { width, unit } = canvas;
  const [cool, warm]: [Colour, Colour] = [hex("#5a78c8"), hex("#d8a0a8")];
  for (let y = 0, at = 0; y < bottom; y++) {
    for (let x = 0; x < width; x++, at += 3) {
      const [u, v] = [x / unit, y / unit];
      const away =
        (u - width / unit / 2) * 0.55 + (v - bottom / unit / 2) * 0.9 + (field.at(u * 0.7, v * 0.7) - 0.5) * 0.25;
      const core = Math.exp(-((away / 0.13) ** 2));
      if (core < 0.01) continue;
      const dust = smoothstep(0.38, 0.62, field.at(u * 1.3 + 0.2, v * 1.3));
      const glow = core * (0.25 + 0.75 * dust) * (0.55 + 0.9 * (field.at(u * 2.9, v * 2.9) - 0.2)) * 0.2;
      canvas.add(at, cool, glow * 1.2);
      canvas.add(at, warm, glow * core * dust);
    }
  }
}

/** Curtains of northern lights that drift and flicker. */
export function paintAurora(canvas: Canvas, field: NoiseField, bottom: number, time: number): void {
  const { width, unit } = canvas;
  const [low, high]: [Colour, Colour] = [hex("#28eb9a"), hex("#7a3cd8")];
  for (let band = 0; band < 3; band++) {
    for (let x = 0; x < width; x++) {
      const u = x / unit;
      const sway = field.at(u * 0.35 + band * 0.37 + time * 0.006, band * 0.29 + time * 0.004) - 0.5;
      const foot = bottom * (0.8 - band * 0.2) + sway * unit * 0.75;
      const fold = field.at(u * 1.1 + sway * 2 + time * 0.012, band * 0.41 + time * 0.01);
      const ray = field.at(u * 3.7 + sway * 3 - time * 0.02, band * 0.7 + time * 0.015);
      const strength = smoothstep(0.36, 0.72, fold) * (0.5 + 0.8 * smoothstep(0.3, 0.75, ray)) * (0.85 - band * 0.2);
      if (strength < 0.01) continue;
      for (let y = 0; y < Math.min(bottom, foot + unit * 0.04); y++) {
        const up = (foot - y) / unit;
        const glow = smoothstep(-0.035, 0.015, up) * Math.exp(-Math.max(0, up) * (5 + 3 * ray)) * strength;
        const violet = smoothstep(0.06, 0.36, up);
        const at = (y * width + x) * 3;
        canvas.add(at, low, glow * (1 - violet) * 0.85);
        canvas.add(at, high, glow * violet * 1.1);
      }
    }
  }
}
