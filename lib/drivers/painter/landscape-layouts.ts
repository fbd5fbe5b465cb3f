import { buildings } from "./buildings.ts";
import { hex, mix, times } from "./canvas.ts";
import type { Layer } from "./layers.ts";
import type { PromptHints } from "./prompt-words.ts";
import { between, pick, type Random } from "./random.ts";
import { dunes, forest, hills, mountains } from "./terrain.ts";

/** The subjects with a horizon. */
export type Landscape = Exclude<NonNullable<PromptHints["land"]>, "space" | "abstract">;
/** The layers of a landscape, and their positions. */
export interface Layout {
  /** The distance from the upper edge, as a fraction of the picture's height. */
  readonly horizon: number;
  readonly behind: readonly Layer[];
  /** The upper edge of the water, as a fraction of the height; undefined without water. `front` lies before it. */
  readonly shore?: number;
  readonly front: readonly Layer[];
}

const greens = ["#4f7a2c", "#5f8a30", "#6f8c3a", "#3f6b34"] as const;
const sands = ["#e0a860", "#d89858", "#e8bc7c", "#cf8a54"] as const;

/** A ground colour, mixed with the prompt's first colour. */
const groundOf = (random: Random, own: readonly [string, ...string[]], { colours }: PromptHints) =>
  mix(hex(pick(random, own)), hex(colours?.[0] ?? "#000000"), colours ? 0.5 : 0);

/** The layout of each subject. `fog` is how strongly fog hides the farthest layer. */
export const layouts: Readonly<
  Record<Landscape, (random: Random, hints: PromptHints, water: boolean, fog: number) => Layout>
> = {
  mountains(random, hints, water, fog) {
    const { snow = false } = hints;
    const green = groundOf(random, greens, hints);
    const high = between(random, 0.34, 0.5);
    const range = (near: number, base: number, rise: number) =>
      mountains(
        random,
        { near, base, rise, haze: fog * (0.72 - near * 0.9), colour: mix(hex("#5a6070"), green, near) },
        snow ? 0.6 : 0.28 - near * 0.35,
      );
    const behind = [range(0.08, 0.08, high), range(0.22, 0.02, high * 0.78), range(0.4, -0.02, high * 0.5)];
    const shore = forest(random, { near: 0.35, base: -0.025, rise: 0.05, haze: 0.2 * fog, colour: green }, snow);
    const front = forest(random, { near: 0.85, base: -0.42, rise: 0.14, haze: 0, colour: green }, snow);
    if (water) return { horizon: 0.62, behind: [...behind, shore], shore: 0.645, front: random() < 0.4 ? [front] : [] };
    const meadow = hills(random, { near: 0.6, base: -0.14, rise: 0.12, haze: 0.12 * fog, colour: green }, 0.55, snow);
    return { horizon: 0.64, behind: [...behind, shore, meadow], front: [front] };
  },
  hills(random, hints, water, fog) {
    const { snow = false } = hints;
    const green = groundOf(random, greens, hints);
    const range = (near: number, base: number, rise: number) =>
      hills(
        random,
        { near, base, rise, haze: fog * (0.62 - near * 0.75), colour: mix(hex("#6f8a60"), green, near) },
        near < 0.2 ? 0.3 : 0.62,
        snow,
      );
    const far = mountains(
      random,
      { near: 0.05, base: 0.0, rise: 0.2, haze: 0.75 * fog, colour: hex("#5a6478") },
      snow ? 0.5 : 0.1,
    );
    const behind = [far, range(0.15, 0, 0.13), range(0.32, -0.05, 0.14)];
    if (water) return { horizon: 0.62, behind, shore: 0.66, front: [range(0.85, -0.36, 0.12)] };
    return { horizon: 0.62, behind: [...behind, range(0.55, -0.15, 0.17), range(0.9, -0.36, 0.22)], front: [] };
  },
  forest(random, { snow = false, leaves }, water, fog) {
    const green = mix(hex(pick(random, greens)), hex(leaves ?? "#2f5a34"), leaves ? 0.9 : 0.6);
    const range = (near: number, base: number) =>
      forest(
        random,
        { near, base, rise: 0.16, haze: fog * Math.max(0, 0.8 - near * 1.05), colour: green },
        snow,
        !leaves,
      );
    const behind = [range(0.1, 0.08), range(0.25, 0.0), range(0.42, -0.08)];
    if (water) return { horizon: 0.6, behind, shore: 0.7, front: [] };
    return { horizon: 0.58, behind: [...behind, range(0.65, -0.2), range(1, -0.42)], front: [] };
  },
  desert(random, hints, water, fog) {
    const sand = groundOf(random, sands, hints);
    const range = (near: number, base: number, rise: number) =>
      dunes(random, { near, base, rise, haze: fog * (0.55 - near * 0.7), colour: mix(sand, times(sand, 0.85), near) });
    const far = mountains(random, { near: 0.05, base: -0.02, rise: 0.14, haze: 0.7 * fog, colour: hex("#8a5a44") }, -1);
    const behind = [far, range(0.15, -0.02, 0.1), range(0.35, -0.1, 0.2)];
    if (water) return { horizon: 0.6, behind, shore: 0.72, front: [] };
    return { horizon: 0.6, behind: [...behind, range(0.6, -0.26, 0.28), range(0.95, -0.46, 0.26)], front: [] };
  },
  city(random, { neon = false }, water, fog) {
    const centre = between(random, -0.25, 0.25);
    const range = (near: number, rise: number, base: number) =>
      buildings(
        random,
        { near: near * 0.3, base, rise, haze: fog * (0.62 - near * 0.62), colour: hex("#5c6472") },
        centre,
        neon,
      );
    const behind = [range(0, 0.52, -0.01), range(0.4, 0.43, -0.01), range(0.8, 0.3, -0.015)];
    const park = forest(random, { near: 0.3, base: -0.03, rise: 0.02, haze: 0, colour: hex("#26402a") }, false);
    const quay = { ...park, near: 0, top: (x: number) => park.top(x) * 0.35 + 0.006 };
    if (water) return { horizon: 0.68, behind: [...behind, quay], shore: 0.69, front: [] };
    return {
      horizon: 0.74,
      behind: [...behind, range(1, 0.2, -0.1)],
      front: [{ ...park, top: (x) => park.top(x) - 0.14 }],
    };
  },
  sea(random, _, __, fog) {
    const island = (near: number, rise: number) =>
      mountains(random, { near, base: -rise * 0.32, rise, haze: fog * (0.6 - near), colour: hex("#3c5a48") }, -1);
    return {
      horizon: 0.55,
      behind: random() < 0.7 ? [island(0.05, 0.09), island(0.15, 0.06)] : [],
      shore: 0.55,
      front: [],
    };
  },
};
