import type { Frame } from "./canvas.ts";

/** A video frame: a luma plane, then two chroma planes at half resolution. Width and height are even. */
export interface YuvFrame {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Luma and the two chroma values of a colour, in the limited range of BT.601. */
const lumaOf = (red: number, green: number, blue: number) =>
  16 + (65.481 * red + 128.553 * green + 24.966 * blue) / 255;
const blueOf = (red: number, green: number, blue: number) => 128 + (-37.797 * red - 74.203 * green + 112 * blue) / 255;
const redOf = (red: number, green: number, blue: number) => 128 + (112 * red - 93.786 * green - 18.214 * blue) / 255;

/** Converts a frame with even sides to YUV. A chroma value is that of the first of four pixels: the content is soft. */
export function yuvOf({ data, width, height }: Frame): YuvFrame {
  const yuv = new Uint8Array(width * height * 1.5);
  let chroma = width * height;
  for (let y = 0, to = 0; y < height; y++)
    for (let x = 0; x < width; x++, to++) {
      const [red, green, blue] = [data[to * 4] as number, data[to * 4 + 1] as number, data[to * 4 + 2] as number];
      yuv[to] = lumaOf(red, green, blue) + 0.5;
      if ((x | y) & 1) continue;
      yuv[chroma] = blueOf(red, green, blue) + 0.5;
      yuv[chroma + (width * height) / 4] = redOf(red, green, blue) + 0.5;
      chroma++;
    }
  return { data: yuv, width, height };
}

/** The planes of a frame: their offsets in the data and their sizes. */
const planesOf = ({ data, width, height }: YuvFrame) =>
  [
    [0, width, height],
    [width * height, width / 2, height / 2],
    [(width * height * 5) / 4, width / 2, height / 2],
  ].map(([from = 0, across = 0, down = 0]) => ({ plane: data.subarray(from, from + across * down), across, down }));

/** Scales a frame up to a size that is at least as large. */
export function scaledUp(small: YuvFrame, width: number, height: number): YuvFrame {
  if (small.width === width && small.height === height) return small;
  const large = { data: new Uint8Array(width * height * 1.5), width, height };
  const planes = planesOf(large);
  for (const [i, from] of planesOf(small).entries()) scale(from, planes[i] as typeof from);
  return large;
}

type Plane = ReturnType<typeof planesOf>[number];

function scale(small: Plane, large: Plane): void {
  const at = (to: number, from: number, size: number) =>
    Math.min(from - 1, Math.max(0, ((to + 0.5) * from) / size - 0.5));
  const columns = Float32Array.from({ length: large.across }, (_, x) => at(x, small.across, large.across));
  const { plane, across } = small;
  for (let y = 0, to = 0; y < large.down; y++) {
    const row = at(y, small.down, large.down);
    const upper = Math.floor(row);
    const fy = row - upper;
    const below = upper + 1 < small.down ? across : 0;
    for (let x = 0; x < large.across; x++, to++) {
      const column = columns[x] as number;
      const left = Math.floor(column);
      const fx = column - left;
      const right = left + 1 < across ? 1 : 0;
      const from = upper * across + left;
      const above = (plane[from] as number) * (1 - fx) + (plane[from + right] as number) * fx;
      const under = (plane[from + below] as number) * (1 - fx) + (plane[from + below + right] as number) * fx;
      large.plane[to] = above * (1 - fy) + under * fy + 0.5;
    }
  }
}

/** Blends two frames into a third. */
export function blend({ data }: YuvFrame, { data: one }: YuvFrame, { data: other }: YuvFrame, part: number): void {
  const weight = Math.round(part * 256);
  for (let i = 0; i < data.length; i++)
    data[i] = ((one[i] as number) * (256 - weight) + (other[i] as number) * weight) >> 8;
}

/** Makes a pixel of a frame whiter; `part` is the opacity of the white. */
export const lightenYuv =
  ({ data, width, height }: YuvFrame) =>
  (x: number, y: number, part: number) => {
    const at = y * width + x;
    data[at] = (data[at] as number) * (1 - part) + 222 * part;
    if ((x | y) & 1) return;
    const chroma = width * height + ((y * width) >> 2) + (x >> 1);
    for (const i of [chroma, chroma + (width * height) / 4]) data[i] = (data[i] as number) * (1 - part) + 128 * part;
  };
