export type Rgb = readonly [red: number, green: number, blue: number];

/** A picture of few colours: a byte a pixel, its place in the palette. */
export interface IndexedPicture {
  /** In pixels, of a row; films pad it. */
  readonly stride: number;
  readonly pixels: Uint8Array;
  readonly palette: readonly Rgb[];
}
