import type { Colour } from "./canvas.ts";
import { smoothstep } from "./interpolation.ts";
import { type Layer, lightSurface, ridgeLine } from "./layers.ts";
import { between, type Random, randomAt } from "./random.ts";
import type { TerrainShape } from "./terrain.ts";

type LampColours = readonly [Colour, Colour, Colour, Colour];
const lamps: LampColours = [
  [1, 0.66, 0.26],
  [1, 0.78, 0.46],
  [0.95, 0.9, 0.78],
  [0.6, 0.8, 1],
];

const neonSigns: LampColours = [
  [1, 0.2, 0.75],
  [0.2, 0.85, 1],
  [0.75, 0.4, 1],
  [1, 0.8, 0.5],
];
const brick: Colour = [0.34, 0.27, 0.22];

/** A row of buildings, highest at `centre`; at night their windows are lit. */
export function buildings(
  random: Random,
  { near, haze, base, rise, colour }: TerrainShape,
  centre: number,
  neon: boolean,
): Layer {
  const colours = neon ? neonSigns : lamps;
  const seed = Math.floor(random() * 2 ** 31);
  const wide = between(random, 0.05, 0.065) * (0.7 + near * 0.6);
  const swell = ridgeLine(random, 1.6, 0.2);
  const pane = 0.0135 * (0.6 + near * 0.5);

  /** The height of the building in a cell. */
  const height = (cell: number) => {
    const middle = Math.exp(-(((cell * wide - centre) / 0.42) ** 2));
    return (
      rise *
      (0.16 + 0.3 * randomAt(seed, cell) + (0.5 * randomAt(seed, cell, 1) ** 2 + 0.35 * swell(cell * wide)) * middle)
    );
  };
  const edge = (x: number) => {
    const cell = Math.floor(x / wide);
    const across = Math.abs(x / wide - cell - 0.5) * 2;
    const high = height(cell);
    const form = randomAt(seed, cell, 2);
    if (across > 0.94) return high * 0.12;
    if (form < 0.25) return across < 0.6 ? high : high * 0.86;
    if (form < 0.36) return high * (across < 0.05 ? 1.3 : across < 0.5 ? 1.02 : across < 0.75 ? 0.93 : 0.8);
    if (form < 0.44) return high * (1.1 - 0.14 * across);
    return high;
  };
  /** The light in a window: 0 is a dark window, a negative number is wall. */
  const window = (cell: number, across: number, up: number, dark: number) => {
    const panes = 4 + Math.floor(randomAt(seed, cell, 4) * 4);
    const column = Math.floor(across * panes);
    const floor = Math.floor(up / pane);
    const ribbon = randomAt(seed, cell, 5) < 0.25;
    const [inX, inY] = [across * panes - column, up / pane - floor];
    if (across < 0.05 || across > 0.95 || inY < 0.25 || inY > 0.72 || (!ribbon && (inX < 0.2 || inX > 0.8))) return -1;
    const occupied = 0.04 + 0.62 * dark * randomAt(seed, cell, 3) ** 1.3;
    if (randomAt(seed, column + cell * 31, floor) > occupied) return 0;
    return dark * (0.14 + 1.3 * randomAt(seed, column + cell * 17, floor + 99) ** 2.5);
  };

  return {
    near,
    haze,
    top: (x) => base + edge(x),
    shade(out, x, deep, { lighting, field, sunX }) {
      const cell = Math.floor(x / wide);
      const across = x / wide - cell;
      const up = edge(x) - deep;
      const dark = 1 - Math.min(1, lighting.directLight * 1.6);
      const turned = sunX < 0.5 ? across < 0.66 : across > 0.34;
      const stain = (0.75 + 0.4 * field.at(x * 3, deep * 2)) * (1 - smoothstep(0, 0.5, deep) * 0.35);
      lightSurface(out, lighting, (turned ? 0.75 : 0.22) * stain, colour, brick, randomAt(seed, cell, 3) * 0.6);
      const bright = deep < pane * 0.7 ? -1 : window(cell, across, up, dark);
      const lamp = colours[Math.floor(randomAt(seed, cell, Math.floor(up / pane)) ** 1.6 * 4)] as Colour;
      const street = dark * 0.07 * Math.exp(-Math.max(0, up) * 16);
      for (const i of [0, 1, 2] as const) {
        const wall = bright < 0 ? (out[i] as number) : (out[i] as number) * 0.55 + lighting.middle[i] * 0.1;
        out[i] = wall + Math.max(0, bright) * lamp[i] + street * colours[0][i];
      }
    },
  };
}
