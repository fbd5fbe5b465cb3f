import type { Colour } from "./canvas.ts";
import type { Place } from "./ground.ts";
import { type Layer, line, lit } from "./layer.ts";
import { between, type Chance, scatter, smoothstep } from "./noise.ts";

const lamps: readonly Colour[] = [
  [1, 0.66, 0.26],
  [1, 0.78, 0.46],
  [0.95, 0.9, 0.78],
  [0.6, 0.8, 1],
];

const signs: readonly Colour[] = [
  [1, 0.2, 0.75],
  [0.2, 0.85, 1],
  [0.75, 0.4, 1],
  [1, 0.8, 0.5],
];
const brick: Colour = [0.34, 0.27, 0.22];

/** A row of houses; at night their windows are lit. `centre` is where it is highest. */
export function houses(
  random: Chance,
  { near, haze, base, rise, colour }: Place,
  centre: number,
  neon: boolean,
): Layer {
  const colours = neon ? signs : lamps;
  const seed = Math.floor(random() * 2 ** 31);
  const wide = between(random, 0.05, 0.065) * (0.7 + near * 0.6);
  const swell = line(random, 1.6, 0.2);
  const pane = 0.0105 * (0.55 + near * 0.5);

  /** The house of a cell: its height, and how its roof narrows. */
  const height = (cell: number) => {
    const middle = Math.exp(-(((cell * wide - centre) / 0.42) ** 2));
    return (
      rise *
      (0.16 + 0.3 * scatter(seed, cell) + (0.5 * scatter(seed, cell, 1) ** 2 + 0.35 * swell(cell * wide)) * middle)
    );
  };
  const edge = (x: number) => {
    const cell = Math.floor(x / wide);
    const across = Math.abs(x / wide - cell - 0.5) * 2;
    const high = height(cell);
    const form = scatter(seed, cell, 2);
    if (across > 0.94) return high * 0.12;
    if (form < 0.25) return across < 0.6 ? high : high * 0.86;
    if (form < 0.36) return high * (across < 0.05 ? 1.3 : across < 0.5 ? 1.02 : across < 0.75 ? 0.93 : 0.8);
    if (form < 0.44) return high * (1.1 - 0.14 * across);
    return high;
  };
  return {
    near,
    haze,
    top: (x) => base + edge(x),
    shade(out, x, deep, { mood, field, sunX }) {
      const cell = Math.floor(x / wide);
      const across = x / wide - cell;
      const own = scatter(seed, cell, 3);
      const turned = sunX < 0.5 ? across < 0.66 : across > 0.34;
      const sun =
        (turned ? 0.75 : 0.22) * (0.75 + 0.4 * field.at(x * 3, deep * 2)) * (1 - smoothstep(0, 0.5, deep) * 0.35);
      lit(out, mood, sun, colour, brick, own * 0.6);
      const column = Math.floor(x / pane);
      const floor = Math.floor((edge(x) - deep) / (pane * 1.35));
      const [inX, inY] = [x / pane - column, (edge(x) - deep) / (pane * 1.35) - floor];
      if (inX < 0.2 || inX > 0.82 || inY < 0.22 || inY > 0.74 || deep < pane * 0.8 || across < 0.06 || across > 0.94)
        return;
      const dark = 1 - Math.min(1, mood.reach * 1.6);
      const busy = scatter(seed, column + cell * 31, floor);
      if (busy < 0.06 + 0.5 * dark * own ** 1.5) {
        const lamp = colours[Math.floor(scatter(seed, floor, column) ** 1.6 * 4)] as Colour;
        const bright = dark * (0.45 + 0.9 * scatter(seed, column, floor + 99)) * (1 - haze * 0.4);
        out[0] = (out[0] as number) + lamp[0] * bright;
        out[1] = (out[1] as number) + lamp[1] * bright;
        out[2] = (out[2] as number) + lamp[2] * bright;
      } else {
        for (let i = 0; i < 3; i++) out[i] = (out[i] as number) * 0.55 + (mood.middle[i] as number) * 0.1;
      }
    },
  };
}
