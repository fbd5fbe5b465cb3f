/** Red, green and blue as linear light: 0 is black, 1 is paper white, and more is overexposed. */
export type Colour = readonly [number, number, number];

/** Linear light from `#rrggbb`. */
export function hex(text: string): Colour {
  const channel = (at: number) => (Number.parseInt(text.slice(at, at + 2), 16) / 255) ** 2.2;
  return [channel(1), channel(3), channel(5)];
}

export const mix = (one: Colour, other: Colour, part: number): Colour => [
  one[0] + (other[0] - one[0]) * part,
  one[1] + (other[1] - one[1]) * part,
  one[2] + (other[2] - one[2]) * part,
];
/** `by` times one colour plus `part` times another: light adds up. */
export const sum = (one: Colour, by: number, other: Colour, part: number): Colour => [
  one[0] * by + other[0] * part,
  one[1] * by + other[1] * part,
  one[2] * by + other[2] * part,
];
export const times = (colour: Colour, by: number): Colour => [colour[0] * by, colour[1] * by, colour[2] * by];

/** A finished picture: opaque RGBA, one byte per channel. */
export interface Frame {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** A picture in progress. Scenes measure in `unit` pixels, so they look the same at every size. */
export class Canvas {
  readonly width: number;
  readonly height: number;
  readonly unit: number;
  /** Linear light, three numbers per pixel. */
  readonly light: Float32Array;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.unit = Math.sqrt(width * height);
    this.light = new Float32Array(width * height * 3);
  }

  get(at: number): Colour {
    const { light } = this;
    return [light[at] as number, light[at + 1] as number, light[at + 2] as number];
  }

  set(at: number, [red, green, blue]: Colour): void {
    this.light[at] = red;
    this.light[at + 1] = green;
    this.light[at + 2] = blue;
  }

  /** Blends a colour over a pixel; `part` is its opacity. */
  cover(at: number, [red, green, blue]: Colour, part: number): void {
    const { light } = this;
    const before = 1 - part;
    light[at] = (light[at] as number) * before + red * part;
    light[at + 1] = (light[at + 1] as number) * before + green * part;
    light[at + 2] = (light[at + 2] as number) * before + blue * part;
  }

  add(at: number, [red, green, blue]: Colour, by: number): void {
    const { light } = this;
    light[at] = (light[at] as number) + red * by;
    light[at + 1] = (light[at + 1] as number) + green * by;
    light[at + 2] = (light[at + 2] as number) + blue * by;
  }

  /** Adds a soft round spot of light; position and radius are in pixels. */
  spot(x: number, y: number, radius: number, colour: Colour, strength: number, lowest = this.height): void {
    const reach = Math.max(1, radius * 2);
    for (let row = Math.max(0, Math.ceil(y - reach)); row <= Math.min(lowest - 1, y + reach); row++) {
      for (let column = Math.max(0, Math.ceil(x - reach)); column <= Math.min(this.width - 1, x + reach); column++) {
        const distance = ((column - x) ** 2 + (row - y) ** 2) / (reach * reach);
        if (distance < 1) this.add((row * this.width + column) * 3, colour, strength * (1 - distance) ** 3);
      }
    }
  }
}
