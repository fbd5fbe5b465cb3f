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
export const pick = <T>(random: Chance, list: readonly [T, ...T[]]): T =>
  list[Math.floor(random() * list.length)] ?? list[0];
export const clamp = (value: number, low: number, high: number) => (value < low ? low : Math.min(value, high));
/** A number from 0 up to 1 that belongs to a place of a grid: windows, trees and flakes are scattered by it. */
export function scatter(seed: number, x: number, y = 0): number {
  let mixed = Math.imul(x + 1, 0x9e3779b1) ^ Math.imul(y + 1, 0x85ebca6b) ^ seed;
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 4_294_967_296;
}
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

  /** Adds one octave of gradient noise. Its loops are written out, since a picture waits for them. */
  #add(random: Chance, cells: number, strength: number): void {
    const size = this.#size;
    const data = this.#data;
    const angles = Float32Array.from({ length: cells * cells }, () => random() * Math.PI * 2);
    const [gx, gy] = [angles.map(Math.cos), angles.map(Math.sin)];
    const fade = (part: number) => part * part * part * (part * (part * 6 - 15) + 10);
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
