import type { Canvas, Frame } from "./canvas.ts";

const steps = 4096;
/** The tone response of film: darker shadows, compressed highlights. A table by the square root of light up to 4. */
const toneCurve = Float32Array.from({ length: steps + 1 }, (_, step) => {
  const light = ((step / steps) * 2) ** 2 * 1.12;
  const exposed = light / (1 + light ** 3.2) ** (1 / 3.2);
  return 255 * (exposed * (0.86 + 0.14 * exposed)) ** (1 / 2.2);
});

/** Finishes a frame: bloom, a vignette, the tone curve, and a grain that prevents banding in soft skies. */
export function toneMap(canvas: Canvas): Frame {
  const { width, height, light } = canvas;
  const data = new Uint8ClampedArray(width * height * 4);
  const addBloom = bloomOf(canvas);
  const row = new Float32Array(width * 3);
  let from = 0;
  let to = 0;
  for (let y = 0; y < height; y++) {
    addBloom(y, row);
    const down = 1 - 0.14 * ((2 * y) / height - 1) ** 2;
    for (let x = 0; x < width; x++) {
      const lens = down * (1 - 0.14 * ((2 * x) / width - 1) ** 2);
      let noise = Math.imul(x + 1, 0x9e3779b1) ^ Math.imul(y + 1, 0x85ebca6b);
      noise = Math.imul(noise ^ (noise >>> 15), 0x2c1b3c6d);
      const grain = ((noise ^ (noise >>> 13)) & 0xff) / 170 - 0.75;
      for (let channel = 0; channel < 3; channel++) {
        const bright = (light[from] as number) + (row[x * 3 + channel] as number);
        const step = (Math.sqrt(bright * lens) * steps * 0.5) | 0;
        from++;
        data[to++] = (toneCurve[Math.min(step, steps)] as number) + grain;
      }
      data[to++] = 255;
    }
  }
  return { data, width, height };
}

/** The light that overexposed pixels spread, computed on a coarse grid. The returned function fills one row. */
function bloomOf({ width, height, unit, light }: Canvas): (y: number, row: Float32Array) => void {
  const size = Math.max(2, Math.round(unit / 160));
  const [columns, rows] = [Math.ceil(width / size) + 1, Math.ceil(height / size) + 1];
  let grid: Float32Array = new Float32Array(columns * rows * 3);
  for (let y = 0; y < height; y++) {
    let at = Math.floor(y / size) * columns * 3;
    for (let x = 0, from = y * width * 3; x < width; x++, from += 3) {
      if (x > 0 && x % size === 0) at += 3;
      const [red, green, blue] = [light[from] as number, light[from + 1] as number, light[from + 2] as number];
      const over = red + green + blue - 2;
      if (over <= 0) continue;
      const part = (Math.min(over, 3) * 0.4) / (size * size);
      grid[at] = (grid[at] as number) + red * part;
      grid[at + 1] = (grid[at + 1] as number) + green * part;
      grid[at + 2] = (grid[at + 2] as number) + blue * part;
    }
  }
  for (let pass = 0; pass < 2; pass++)
    grid = blurred(blurred(grid, columns, rows, 3, columns * 3), rows, columns, columns * 3, 3);
  return (y, row) => {
    const down = Math.max(0, y / size - 0.5);
    const upper = Math.floor(down);
    const fy = down - upper;
    for (let x = 0; x < width; x++) {
      const across = Math.max(0, x / size - 0.5);
      const left = Math.floor(across);
      const fx = across - left;
      for (let channel = 0, at = (upper * columns + left) * 3; channel < 3; channel++, at++) {
        const above = (grid[at] as number) * (1 - fx) + (grid[at + 3] as number) * fx;
        const below = (grid[at + columns * 3] as number) * (1 - fx) + (grid[at + columns * 3 + 3] as number) * fx;
        row[x * 3 + channel] = (above * (1 - fy) + below * fy) * 0.5;
      }
    }
  };
}

/** Box blur along lines of `length` values with stride `step`. */
function blurred(grid: Float32Array, length: number, lines: number, step: number, next: number): Float32Array {
  const reach = 4;
  const soft = new Float32Array(grid.length);
  for (let line = 0; line < lines; line++) {
    for (let i = 0; i < length; i++) {
      for (let channel = 0; channel < 3; channel++) {
        const base = line * next + channel;
        let sum = 0;
        for (let j = Math.max(0, i - reach); j <= Math.min(length - 1, i + reach); j++)
          sum += grid[base + j * step] as number;
        soft[base + i * step] = sum / (2 * reach + 1);
      }
    }
  }
  return soft;
}
