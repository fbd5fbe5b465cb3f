import type { Frame } from "./canvas.ts";
import { randomAt } from "./random.ts";

type Size = Pick<Frame, "width" | "height">;
/** Makes a pixel whiter; `part` is the opacity of the white. */
type Lighten = (x: number, y: number, part: number) => void;

/** Draws snow or rain on a finished frame, because both move too fast for blending between frames. */
export type Precipitation = (frame: Size, time: number, lighten: Lighten) => void;

/** Drifting flakes. Large ones are nearer and fall faster. */
export const snowfall =
  (seed: number): Precipitation =>
  ({ width, height }, time, lighten) => {
    const unit = Math.sqrt(width * height);
    for (let i = 0; i < 700; i++) {
      const size = randomAt(seed, i) ** 2;
      const y = (((randomAt(seed, i, 1) + time * (0.18 + 0.3 * size)) % 1.1) - 0.05) * height;
      const x = ((randomAt(seed, i, 2) + Math.sin(time * 0.9 + i) * 0.008 + 1) % 1) * width;
      const reach = unit * (0.0012 + 0.0035 * size) + 1;
      for (let row = Math.max(0, Math.ceil(y - reach)); row <= Math.min(height - 1, y + reach); row++)
        for (let column = Math.max(0, Math.ceil(x - reach)); column <= Math.min(width - 1, x + reach); column++) {
          const inside = 1 - Math.hypot(column - x, row - y) / reach;
          if (inside > 0) lighten(column, row, (0.35 + 0.5 * size) * Math.min(1, inside * 1.6));
        }
    }
  };

/** Streaks slanted by the wind. */
export const rainfall =
  (seed: number): Precipitation =>
  ({ width, height }, time, lighten) => {
    const unit = Math.sqrt(width * height);
    for (let i = 0; i < 520; i++) {
      const size = randomAt(seed, i) ** 2;
      const y = ((randomAt(seed, i, 1) + time * (1.3 + 0.7 * size)) % 1.1) - 0.05;
      const x = (randomAt(seed, i, 2) - y * 0.06 + 1.1) % 1;
      const length = unit * (0.02 + 0.03 * size);
      for (let down = 0; down < length; down++) {
        const [row, column] = [Math.round(y * height + down), Math.round(x * width - down * 0.09)];
        if (row >= 0 && row < height && column >= 0 && column < width)
          lighten(column, row, (0.1 + 0.16 * size) * (down / length));
      }
    }
  };

export const lightenFrame =
  ({ data, width }: Frame): Lighten =>
  (x, y, part) => {
    const at = (y * width + x) * 4;
    for (let i = at; i < at + 3; i++) data[i] = (data[i] as number) * (1 - part) + 240 * part;
  };
