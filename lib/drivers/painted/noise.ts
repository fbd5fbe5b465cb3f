/** Numbers from 0 up to 1, always the same ones for the same seed. */
export type Chance = () => number;

/** Mulberry32: small, quick, and good enough for pictures. */
export function chance(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const between = (random: Chance, low: number, high: number) => low + (high - low) * random();
export const clamp = (value: number, low: number, high: number) => (value < low ? low : Math.min(value, high));
/** 0 below `from`, 1 above `to`, and a smooth way between them. */
export function smoothstep(from: number, to: number, value: number): number {
  const part = clamp((value - from) / (to - from), 0, 1);
  return part * part * (3 - 2 * part);
}

/**
 * Noise of several octaves, drawn once as a tile that repeats without a seam and read at any place: a look-up costs a
 * hundredth of the noise itself, so that a film can move through it. Values lie around 0.5, nearly all within 0 and 1.
 */
export class Field {
  readonly #size: number;
  readonly #data: Float32Array;

  /** A tile of `size` samples a side (a power of two); its largest features are `1 / cells` of it wide. */
  constructor(random: Chance, size: number, cells: number, octaves: number) {
    this.#size = size;
    this.#data = new Float32Array(size * size).fill(0.5);
    let strength = 0.5;
    for (let octave = 0; octave < octaves; octave++) {
      this.#add(random, cells * 2 ** octave, strength);
      strength *= 0.5;
    }
  }

  /** Adds one octave of gradient noise. */
  #add(random: Chance, cells: number, strength: number): void {
    const size = this.#size;
    const gradients = new Float32Array(cells * cells * 2);
    for (let i = 0; i < gradients.length; i += 2) {
      const angle = random() * Math.PI * 2;
      gradients[i] = Math.cos(angle);
      gradients[i + 1] = Math.sin(angle);
    }
    const slope = (column: number, row: number, x: number, y: number) => {
      const at = ((row % cells) * cells + (column % cells)) * 2;
      return (gradients[at] ?? 0) * x + (gradients[at + 1] ?? 0) * y;
    };
    for (let y = 0; y < size; y++) {
      const down = (y / size) * cells;
      const row = Math.floor(down);
      const fy = down - row;
      const wy = fy * fy * fy * (fy * (fy * 6 - 15) + 10);
      for (let x = 0; x < size; x++) {
        const across = (x / size) * cells;
        const column = Math.floor(across);
        const fx = across - column;
        const wx = fx * fx * fx * (fx * (fx * 6 - 15) + 10);
        const upper = slope(column, row, fx, fy) * (1 - wx) + slope(column + 1, row, fx - 1, fy) * wx;
        const lower = slope(column, row + 1, fx, fy - 1) * (1 - wx) + slope(column + 1, row + 1, fx - 1, fy - 1) * wx;
        this.#data[y * size + x] = (this.#data[y * size + x] ?? 0) + (upper * (1 - wy) + lower * wy) * strength;
      }
    }
  }

  /** The value at a place; the tile is one unit wide and high. */
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
