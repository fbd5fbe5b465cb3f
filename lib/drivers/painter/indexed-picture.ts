import type { Frame } from "./canvas.ts";

export type Rgb = readonly [red: number, green: number, blue: number];

/** A picture of few colours: a byte a pixel, its place in the palette. */
export interface IndexedPicture {
  /** In pixels, of a row; films pad it. */
  readonly stride: number;
  readonly pixels: Uint8Array;
  readonly palette: readonly Rgb[];
}

/** The picture with its colours. */
export function frameOf({ stride, pixels, palette }: IndexedPicture): Frame {
  const data = new Uint8ClampedArray(pixels.length * 4);
  const colours = new Uint32Array(new Uint8Array(palette.flatMap((colour) => [...colour, 255])).buffer);
  const whole = new Uint32Array(data.buffer);
  for (let at = 0; at < pixels.length; at++) whole[at] = colours[pixels[at] as number] as number;
  return { data, width: stride, height: pixels.length / stride };
}
