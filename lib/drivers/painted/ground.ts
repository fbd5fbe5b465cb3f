import { type Canvas, type Colour, mix, times } from "./canvas.ts";
import type { Mood } from "./mood.ts";
import { type Chance, type Field, smoothstep } from "./noise.ts";

/** One range of land, from its upper edge down. Ranges are painted from the farthest to the nearest. */
export interface Range {
  readonly kind: "mountains" | "hills" | "forest" | "desert";
  /** How near it is: 0 at the horizon, 1 before the eye. */
  readonly near: number;
  readonly colour: Colour;
  readonly haze: Colour;
  readonly snow: boolean;
  /** Its height above the horizon at a place, both in units. */
  height(x: number): number;
}

/** A line of hills: `rough` 0 is smooth, 1 is jagged. */
export function line(random: Chance, cells: number, rough: number): (x: number) => number {
  const octaves = Array.from({ length: 8 }, (_, octave) => ({
    scale: cells * 2 ** octave,
    strength: 0.5 * (0.32 + 0.2 * rough) ** octave,
    values: Float32Array.from({ length: 256 }, () => random()),
  }));
  return (x) => {
    let sum = 0;
    for (const { scale, strength, values } of octaves) {
      const place = x * scale + 1024;
      const left = Math.floor(place);
      const part = place - left;
      const smooth = part * part * (3 - 2 * part);
      const value = (values[left & 255] as number) * (1 - smooth) + (values[(left + 1) & 255] as number) * smooth;
      sum += strength * (rough > 0.6 ? 1 - Math.abs(2 * value - 1) : value);
    }
    return sum;
  };
}

export function paintRange(
  canvas: Canvas,
  range: Range,
  mood: Mood,
  field: Field,
  horizon: number,
  shift: number,
  sunX: number,
): void {
  const { width, height, unit } = canvas;
  const tops = new Float32Array(width + 1);
  for (let x = 0; x <= width; x++) tops[x] = horizon - range.height((x - width / 2) / unit + shift) * unit;
  const { colour, haze, near } = range;
  const [dark, bright] = [mix(times(colour, 0.4), mood.shade, 0.12), mix(colour, times(mood.light, 0.9), 0.18)];
  const fog = (1 - near) * 0.8;
  for (let x = 0; x < width; x++) {
    const top = tops[x] as number;
    const u = (x - width / 2) / unit + shift;
    const side = x / width < sunX ? 1 : -1;
    for (let y = Math.max(0, Math.floor(top)); y < height; y++) {
      const part = Math.min(y + 1 - top, 1);
      const deep = (y - top) / unit;
      const rough = field.at(u * 2.3, (y / unit) * 2.3 - deep);
      const slope =
        (field.at(u * 1.7 + 0.01 * side + deep * 0.4, deep * 0.9) - field.at(u * 1.7 + deep * 0.4, deep * 0.9)) * 9;
      const lit = smoothstep(-0.35, 0.5, slope + (rough - 0.5) * 0.7);
      const low = fog + (1 - fog) * smoothstep(0, 0.5, deep) * (1 - near) * 0.6;
      canvas.cover(
        (y * width + x) * 3,
        (dark[0] + (bright[0] - dark[0]) * lit) * (1 - low) + haze[0] * low,
        (dark[1] + (bright[1] - dark[1]) * lit) * (1 - low) + haze[1] * low,
        (dark[2] + (bright[2] - dark[2]) * lit) * (1 - low) + haze[2] * low,
        part,
      );
    }
  }
}
