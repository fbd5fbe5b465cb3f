import type { Random } from "./random.ts";

/**
 * Noise of several octaves as a seamless tile. It is computed once and then read at any point, because a lookup is much
 * cheaper than the noise itself. A film moves through the tile. Values lie around 0.5, nearly all between 0 and 1.
 */
export class NoiseField {
  readonly #size: number;
  readonly #data: Float32Array;

  /** A square tile of `size` samples per side (a power of two). Its largest features have `1 / cells` of a side. */
  constructor(random: Random, size: number, cells: number, octaves: number) {
    this.#size = size;
    this.#data = new Float32Array(size * size).fill(0.5);
    let strength = 0.5;
    for (let octave = 0; octave < octaves; octave++) {
      this.#add(random, cells * 2 ** octave, strength);
      strength *= 0.5;
    }
  }

  /** Adds one octave of gradient noise. */
  #add(random: Random, cells: number, strength: number): void {
    const size = this.#size;
    const data = this.#data;
    const angles = Float32Array.from({ length: cells * cells }, () => random() * Math.PI * 2);
    const [gx, gy] = [angles.map(Math.cos), angles.map(Math.sin)];
    const fade = (t: number) => t * t * t * (t * (t * 6 - 15) + 10);
    for (let y = 0, to = 0; y < size; y++) {
      const down = (y / size) * cells;
      const row = Math.floor(down);
      const fy = down - row;
      const wy = fade(fy);
      const [upper, lower] = [row * cells, ((row + 1) % cells) * cells];
      for (let x = 0; x < size; x++, to++) {
        const across = (x / size) * cells;
        const left = Math.floor(across);
        const right = left + 1 === cells ? 0 : left + 1;
        const fx = across - left;
        const a = (gx[upper + left] as number) * fx + (gy[upper + left] as number) * fy;
        const b = (gx[upper + right] as number) * (fx - 1) + (gy[upper + right] as number) * fy;
        const c = (gx[lower + left] as number) * fx + (gy[lower + left] as number) * (fy - 1);
        const d = (gx[lower + right] as number) * (fx - 1) + (gy[lower + right] as number) * (fy - 1);
        const wx = fade(fx);
        const above = a + (b - a) * wx;
        data[to] = (data[to] as number) + (above + (c + (d - c) * wx - above) * wy) * strength;
      }
    }
  }

  /** The interpolated value at a point. The tile is 1 wide and 1 high. */
  at(u: number, v: number): number {
    const size = this.#size;
    const mask = size - 1;
    const x = u * size;
    const y = v * size;
    const column = Math.floor(x);
    const row = Math.floor(y);
    const fx = x - column;
    const fy = y - row;
    const left = column & mask;
    const right = (column + 1) & mask;
    const upper = (row & mask) * size;
    const lower = ((row + 1) & mask) * size;
    const data = this.#data;
    const above = (data[upper + left] as number) * (1 - fx) + (data[upper + right] as number) * fx;
    const below = (data[lower + left] as number) * (1 - fx) + (data[lower + right] as number) * fx;
    return above * (1 - fy) + below * fy;
  }
}
