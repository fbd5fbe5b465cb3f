import { type Colour, mix } from "./canvas.ts";
import { smoothstep } from "./interpolation.ts";
import { type Layer, lightSurface, ridgeLine, tabled } from "./layers.ts";
import { between, type Random, randomAt } from "./random.ts";

/** The measures of one layer of terrain or buildings. */
export interface TerrainShape {
  readonly near: number;
  readonly haze: number;
  /** The lowest point of the edge above the horizon, and the rise from there; in units. */
  readonly base: number;
  readonly rise: number;
  readonly colour: Colour;
}

const rock: Colour = [0.2, 0.19, 0.2];
const white: Colour = [0.9, 0.92, 0.96];

/** Peaks with lit and shaded facets below their ridges. `snow` is how far down they are white. */
export function mountains(random: Random, { near, haze, base, rise, colour }: TerrainShape, snow: number): Layer {
  const edge = ridgeLine(random, between(random, 0.9, 1.5) * (1 + near), 0.85);
  const top = (x: number) => base + rise * (edge(x) - 0.3);
  const stone = mix(rock, colour, 0.45);
  return {
    near,
    haze,
    top,
    shade(out, x, deep, { lighting, field, sunX }) {
      const side = sunX < 0.5 ? -1 : 1;
      const bend = (field.at(x * 1.3, deep * 1.3 + near) - 0.5) * (0.1 + deep * 1.2);
      const at = x + bend;
      const slope = (edge(at - 0.012 * side) - edge(at + 0.012 * side)) * rise * 22;
      const rough = field.at(x * 4.1 + bend, deep * 4.1) - field.at(x * 4.1 + bend + 0.012 * side, deep * 4.1 - 0.006);
      const sun = smoothstep(-0.75, 1.1, slope + rough * 9) ** 1.2;
      const high = top(x) - deep;
      const cover = smoothstep(
        -0.025,
        0.03,
        high - (base + rise * (0.75 - snow)) + (field.at(x * 3, deep * 5) - 0.5) * 0.16 + rough * 0.7,
      );
      lightSurface(out, lighting, sun, stone, white, cover);
    },
  };
}

/** Rolling hills with meadows in several greens, bright on the sunny side. `trees` is the tree density. */
export function hills(random: Random, place: TerrainShape, trees: number, snow: boolean): Layer {
  const { near, haze, base, rise, colour } = place;
  const edge = ridgeLine(random, between(random, 0.8, 1.3), 0.05);
  const treeHeight = grove(random, 0.012 + 0.022 * near, 0.02 + 0.05 * near, trees, false);
  const [ground, other] = snow
    ? [white, mix(white, [0.6, 0.7, 0.85], 0.4)]
    : [colour, mix(colour, [0.5, 0.42, 0.12], 0.45)];
  const leaf = mix(mix(colour, [0.02, 0.07, 0.03], 0.65), white, snow ? 0.3 : 0);
  return {
    near,
    haze,
    top: (x) => base + rise * edge(x) + treeHeight(x),
    shade(out, x, deep, { lighting, field, sunX }) {
      const tree = treeHeight(x);
      if (deep < tree) {
        const inner = field.at(x * 9, deep * 9) - field.at(x * 9 + 0.02, deep * 9 - 0.03);
        return lightSurface(out, lighting, smoothstep(-0.3, 0.5, inner * 5 + 0.25 - (deep / tree) * 0.4), leaf);
      }
      const below = deep - tree;
      const patch = field.at(x * 0.9 + near, below * 3.2);
      const grass = field.at(x * 7, below * 22) - 0.5;
      const side = sunX < 0.5 ? -1 : 1;
      const slope = (edge(x - 0.03 * side + below * 0.4) - edge(x + 0.03 * side + below * 0.4)) * rise * 9;
      const sun = 0.36 + 0.34 * Math.exp(-below * 9) + slope + (patch - 0.5) * 0.4 + grass * 0.34;
      lightSurface(out, lighting, Math.max(0.05, sun), ground, other, smoothstep(0.42, 0.62, patch));
    },
  };
}

/** A forest of firs or other trees, dark below and lit at the tips. */
export function forest(
  random: Random,
  { near, haze, base, rise, colour }: TerrainShape,
  snow: boolean,
  fir = true,
): Layer {
  const edge = ridgeLine(random, between(random, 0.7, 1.2), 0.2);
  const wide = 0.012 + 0.05 * near ** 1.5;
  const high = wide * (fir ? 2.6 : 1.5);
  const treeHeight = fir ? grove(random, wide * 0.62, high, 1, true) : grove(random, wide, high, 2, false);
  const needle = fir ? mix(colour, [0.015, 0.05, 0.03], 0.6) : colour;
  // Rows of trees overlap down the slope. Each is lit at its tips and dark where the next one covers it.
  const apart = high * 0.55;
  const belowTip = (x: number, below: number) => {
    for (let row = Math.max(0, Math.floor((below + high) / apart)); row > 0; row--) {
      const under = below - row * apart + treeHeight(x + row * 0.371);
      if (under >= 0) return under;
    }
    return below + treeHeight(x);
  };
  return {
    near,
    haze,
    top: (x) => base + rise * edge(x) + treeHeight(x),
    shade(out, x, deep, { lighting, field }) {
      const branch = field.at(x * 11, deep * 5 - x * 2) - field.at(x * 11 + 0.02, deep * 5 - x * 2 - 0.02);
      const tip = 1 - smoothstep(0, high * 0.8, belowTip(x, deep - treeHeight(x)));
      const cover = snow ? smoothstep(0.25, 0.75, tip + branch * 2.5) * 0.8 : 0;
      const sun = 0.1 + 0.5 * tip + branch * 2 - deep * 0.3;
      lightSurface(out, lighting, Math.max(0.03, sun), needle, white, cover);
    },
  };
}

/** The height of the trees at `x`. `density` is the chance of a tree per cell. */
function grove(random: Random, wide: number, high: number, density: number, fir: boolean): (x: number) => number {
  const seed = Math.floor(random() * 2 ** 31);
  const clumps = ridgeLine(random, 2.5, 0.3);
  return tabled((x) => {
    const cell = Math.floor(x / wide);
    let top = 0;
    for (let i = cell - 2; i <= cell + 2; i++) {
      if (!fir && clumps(i * wide) > density * 0.9) continue;
      const size = 0.45 + 0.55 * randomAt(seed, i);
      const away =
        Math.abs(x - (i + 0.5 + (randomAt(seed, i, 1) - 0.5) * 0.9) * wide) /
        (wide * (fir ? 0.42 : 0.55) * (0.6 + size));
      if (away >= 1) continue;
      // Firs are pointed with stepped branches; other trees are round.
      const shape = fir ? (1 - away) * (0.86 + 0.28 * ((away * 5) % 1)) : Math.sqrt(1 - away * away);
      top = Math.max(top, high * size * shape);
    }
    return top;
  });
}

/** Dunes: a lit and a shaded flank on either side of a winding crest, with wind ripples. */
export function dunes(random: Random, { near, haze, base, rise, colour }: TerrainShape): Layer {
  const edge = ridgeLine(random, between(random, 0.9, 1.4), 0.02);
  const wind = between(random, 0.7, 1.5) * (random() < 0.5 ? -1 : 1);
  return {
    near,
    haze,
    top: (x) => base + rise * edge(x),
    shade(out, x, deep, { lighting, field, sunX }) {
      const side = sunX < 0.5 ? -1 : 1;
      const bend = (field.at(x * 0.5, deep * 0.7) - 0.5) * 0.5;
      const at = x + (deep * wind + bend) * 0.8;
      const slope = (edge(at - 0.01 * side) - edge(at + 0.01 * side)) * 18;
      const ripple = Math.sin((deep * 3.4 + bend * 1.6 + x * 0.35) * 130) * 0.05 * near;
      const grain = (field.at(x * 17, deep * 17) - 0.5) * 0.1;
      lightSurface(out, lighting, Math.max(0.03, smoothstep(-0.28, 0.4, slope) * 0.95 + ripple + grain), colour);
    },
  };
}
