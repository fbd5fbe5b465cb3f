import type { Canvas, Colour } from "./canvas.ts";
import type { Mood } from "./mood.ts";
import { type Chance, clamp, type Field, smoothstep } from "./noise.ts";

/** What is handed down while a scene is painted: the light, where it comes from, and noise to read. */
export interface Light {
  readonly mood: Mood;
  readonly field: Field;
  /** Where the sun or moon stands, in parts of the width. */
  readonly sunX: number;
  /** Whether it is in the sky, and so on the water. */
  readonly sparkles: boolean;
}

/** One range of something with an upper edge. Layers are painted from the farthest to the nearest, each over the others. */
export interface Layer {
  /** How near it is: 0 at the horizon, 1 before the eye. Near ones move more when the camera does. */
  readonly near: number;
  /** How much of it distance hides, from 0 to 1. */
  readonly haze: number;
  /** Its upper edge above the scene's horizon at a place; both in units, and below 0 where it is lower. */
  top(x: number): number;
  /** Writes the colour of a place, `deep` units below the edge, into `out`. */
  shade(out: Float32Array, x: number, deep: number, light: Light): void;
}

/**
 * Paints layers, the farthest first, each from its edge down to the next one's or to the row `bottom`. `shift` is how
 * far the camera went.
 */
export function paintLayers(
  canvas: Canvas,
  layers: readonly Layer[],
  light: Light,
  horizon: number,
  shift: number,
  bottom: number,
): void {
  const { width, unit } = canvas;
  const edges = layers.map(({ near, top }) => {
    const at = (x: number) => horizon - top((x - width / 2) / unit + shift * near) * unit;
    return Float32Array.from({ length: width + 1 }, (_, x) => at(x));
  });
  for (const [i, layer] of layers.entries()) {
    const nearer = edges.slice(i + 1);
    const until = Int32Array.from({ length: width }, (_, x) =>
      Math.ceil(
        nearer.reduce((low, edge) => Math.min(low, Math.max(edge[x] as number, edge[x + 1] as number) + 1), bottom),
      ),
    );
    paintLayer(canvas, layer, light, edges[i] as Float32Array, until, shift);
  }
}

function paintLayer(
  canvas: Canvas,
  layer: Layer,
  light: Light,
  edge: Float32Array,
  until: Int32Array,
  shift: number,
): void {
  const { width, unit } = canvas;
  const { haze } = light.mood;
  const out = new Float32Array(3);
  const highest = Math.max(0, Math.floor(edge.reduce((low, y) => Math.min(low, y))));
  const lowest = until.reduce((low, y) => Math.max(low, y), 0);
  for (let y = highest; y < lowest; y++) {
    for (let x = 0; x < width; x++) {
      const top = ((edge[x] as number) + (edge[x + 1] as number)) / 2;
      const part = y + 1 - top;
      if (part <= 0 || y >= (until[x] as number)) continue;
      const deep = Math.max(0, y - top) / unit;
      layer.shade(out, (x - width / 2) / unit + shift * layer.near, deep, light);
      // Air gathers low down between the ranges, so that each stands before a paler one.
      const hidden = layer.haze + (1 - layer.haze) * layer.haze * smoothstep(0, 0.3, deep) * 0.8;
      const seen = 1 - hidden;
      canvas.cover(
        (y * width + x) * 3,
        (out[0] as number) * seen + haze[0] * hidden,
        (out[1] as number) * seen + haze[1] * hidden,
        (out[2] as number) * seen + haze[2] * hidden,
        Math.min(1, part),
      );
    }
  }
}

/** Lights a surface, which is `one` and `part` of the other: what the sky lends to it, and what of the sun reaches it. */
export function lit(out: Float32Array, mood: Mood, sun: number, one: Colour, other = one, part = 0): void {
  const { shade, light } = mood;
  const direct = mood.reach * sun;
  out[0] = (one[0] + (other[0] - one[0]) * part) * (shade[0] * 0.75 + light[0] * direct);
  out[1] = (one[1] + (other[1] - one[1]) * part) * (shade[1] * 0.75 + light[1] * direct);
  out[2] = (one[2] + (other[2] - one[2]) * part) * (shade[2] * 0.75 + light[2] * direct);
}

const [reach, fine] = [8, 1024];

/**
 * A line of hills between 0 and about 1, for places from -8 to 8: `rough` 0 is smooth, 1 is jagged. It is drawn once,
 * since every pixel asks for it.
 */
export function line(random: Chance, cells: number, rough: number): (x: number) => number {
  const table = new Float32Array(2 * reach * fine + 2);
  for (let octave = 0; octave < (rough > 0.1 ? 8 : 4); octave++) {
    const scale = (cells * 2 ** octave * (1 + octave * 0.07)) / fine;
    const strength = 0.6 * (0.22 + 0.27 * rough) ** octave;
    const offset = random() * 256;
    const values = Float32Array.from({ length: 256 }, random);
    for (let i = 0; i < table.length; i++) {
      const at = i * scale + offset;
      const left = Math.floor(at);
      const part = at - left;
      const smooth = part * part * (3 - 2 * part);
      const value = (values[left & 255] as number) * (1 - smooth) + (values[(left + 1) & 255] as number) * smooth;
      table[i] = (table[i] as number) + strength * (rough > 0.6 ? 1 - Math.abs(2 * value - 1) : value);
    }
  }
  return (x) => {
    const at = clamp((x + reach) * fine, 0, 2 * reach * fine);
    const left = Math.floor(at);
    return (table[left] as number) + ((table[left + 1] as number) - (table[left] as number)) * (at - left);
  };
}
