import { type Canvas, type Colour, mix, sum } from "./canvas.ts";
import { clamp, smoothstep } from "./interpolation.ts";
import type { Lighting } from "./lighting.ts";
import type { NoiseField } from "./noise-field.ts";
import type { Random } from "./random.ts";

/** The lighting, its direction and the noise that all layers share. */
export interface SceneLight {
  readonly lighting: Lighting;
  readonly field: NoiseField;
  /** The horizontal position of sun or moon, from 0 at the left to 1. */
  readonly sunX: number;
  /** Whether sun or moon is visible, so that water glitters. */
  readonly sparkles: boolean;
}

/** Terrain or buildings with an upper edge. Layers are painted from far to near, one over the other. */
export interface Layer {
  /** 0 at the horizon, 1 directly before the viewer. Near layers move more when the camera pans. */
  readonly near: number;
  /** How strongly haze hides the layer, from 0 to 1. */
  readonly haze: number;
  /** The height of the upper edge above the horizon at `x`; both in units, negative below the horizon. */
  top(x: number): number;
  /** Writes the colour at `x`, `deep` units below the edge, into `out`. */
  shade(out: Float32Array, x: number, deep: number, light: SceneLight): void;
}

/** Paints layers, the farthest first, down to the edge of the next or to the row `bottom`. `shift` pans, in units. */
export function paintLayers(
  canvas: Canvas,
  layers: readonly Layer[],
  light: SceneLight,
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
  light: SceneLight,
  edge: Float32Array,
  until: Int32Array,
  shift: number,
): void {
  const { width, unit } = canvas;
  const { haze } = light.lighting;
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
      // Haze gathers at the bottom of each layer, so the next layer stands out against a paler one.
      const hidden = layer.haze + (1 - layer.haze) * layer.haze * smoothstep(0, 0.3, deep) * 0.8;
      const colour = out as unknown as Colour;
      canvas.cover((y * width + x) * 3, sum(colour, 1 - hidden, haze, hidden), Math.min(1, part));
    }
  }
}

/** Lights a surface with ambient light and a share `sun` of direct light. `part` of its colour is `other`. */
export function lightSurface(
  out: Float32Array,
  lighting: Lighting,
  sun: number,
  one: Colour,
  other = one,
  part = 0,
): void {
  const { shade, light } = lighting;
  const colour = mix(one, other, part);
  const lit = sum(shade, 0.75, light, lighting.directLight * sun);
  for (const i of [0, 1, 2] as const) out[i] = colour[i] * lit[i];
}

const [widest, samplesPerUnit] = [8, 1024];

/** A lookup table for a function of `x` from -8 to 8, because every pixel needs it. */
export function tabled(of: (x: number) => number): (x: number) => number {
  const table = Float32Array.from({ length: 2 * widest * samplesPerUnit + 2 }, (_, i) =>
    of(i / samplesPerUnit - widest),
  );
  return (x) => {
    const at = clamp((x + widest) * samplesPerUnit, 0, 2 * widest * samplesPerUnit);
    const left = Math.floor(at);
    return (table[left] as number) + ((table[left + 1] as number) - (table[left] as number)) * (at - left);
  };
}

/** The height of a ridge, from 0 to about 1; `rough` 0 is smooth, 1 is jagged. */
export function ridgeLine(random: Random, cells: number, rough: number): (x: number) => number {
  const octaves = Array.from({ length: rough > 0.1 ? 8 : 4 }, (_, octave) => ({
    scale: cells * 2 ** octave * (1 + octave * 0.07),
    strength: 0.6 * (0.22 + 0.27 * rough) ** octave,
    offset: random() * 256,
    values: Float32Array.from({ length: 256 }, random),
  }));
  return tabled((x) => {
    let sum = 0;
    for (const { scale, strength, offset, values } of octaves) {
      const at = (x + widest) * scale + offset;
      const left = Math.floor(at);
      const part = at - left;
      const smooth = part * part * (3 - 2 * part);
      const value = (values[left & 255] as number) * (1 - smooth) + (values[(left + 1) & 255] as number) * smooth;
      sum += strength * (rough > 0.6 ? 1 - Math.abs(2 * value - 1) : value);
    }
    return sum;
  });
}
