import { type Colour, hex, mix, times } from "./canvas.ts";
import type { PromptHints } from "./prompt-words.ts";
import { between, pick, type Random } from "./random.ts";

/** The colours of a sky, of the sun or moon (`light`), of ambient light (`shade`) and of clouds. */
const names = ["zenith", "middle", "horizon", "light", "shade", "cloudLit", "cloudShade"] as const;
type Palette = Readonly<Record<(typeof names)[number], Colour>>;

/** The light of a scene: its colours, and the position of sun or moon. */
export interface Lighting extends Palette {
  /** The height of sun or moon: 0 at the horizon, 1 at the upper edge. */
  readonly elevation: number;
  /** The brightness of disc and glow. */
  readonly glow: number;
  /** How much direct light reaches the ground: 1 at noon. */
  readonly directLight: number;
  /** The colour of distant objects. */
  readonly haze: Colour;
  readonly isNight: boolean;
}

/** Builds a palette from seven colours in the order of `names`. */
const palette = (...colours: readonly string[]): Palette =>
  Object.fromEntries(names.map((name, i) => [name, hex(colours[i] ?? "")])) as Palette;

interface TimeOfDay {
  readonly palettes: readonly [Palette, ...Palette[]];
  readonly elevation: readonly [number, number];
  readonly glow: number;
  readonly directLight: number;
}

const timesOfDay: Readonly<Record<NonNullable<PromptHints["time"]>, TimeOfDay>> = {
  dawn: {
    palettes: [
      palette("#3f6ba8", "#d3a4b4", "#ffd9ae", "#ffc48c", "#5a6a94", "#ffe3d0", "#8d86a8"),
      palette("#5a7fb5", "#f0b8a8", "#ffe6b8", "#ffd09a", "#6a7298", "#fff0dc", "#a58ea6"),
      palette("#486a9c", "#a9b7cf", "#fbd8c8", "#ffcfb4", "#5d7096", "#fdeae4", "#8f97b4"),
    ],
    elevation: [0.1, 0.3],
    glow: 1,
    directLight: 0.75,
  },
  day: {
    palettes: [
      palette("#1f63b4", "#67a9e0", "#d3e8f2", "#fff2d8", "#7d9cc4", "#ffffff", "#a7b8cc"),
      palette("#2b74c4", "#7dbbe8", "#e2f0f0", "#fff6e0", "#86a6c8", "#ffffff", "#b2c2d2"),
      palette("#1a5aa0", "#4f9bd0", "#bfe0e8", "#fff0d0", "#7094bc", "#fffdf6", "#9ab0c8"),
    ],
    elevation: [0.62, 0.85],
    glow: 0.8,
    directLight: 1,
  },
  golden: {
    palettes: [
      palette("#4b78a8", "#d8bd94", "#ffdf9a", "#ffcf80", "#6b6f8a", "#fff0cf", "#a08c8c"),
      palette("#5d7fa0", "#e6bb80", "#ffd488", "#ffc068", "#74687c", "#ffe9bd", "#a6837a"),
    ],
    elevation: [0.22, 0.42],
    glow: 1.2,
    directLight: 0.85,
  },
  sunset: {
    palettes: [
      palette("#28306a", "#b24a72", "#ff9a4c", "#ff8a3c", "#40365e", "#ffb070", "#6b4068"),
      palette("#33448a", "#d8627a", "#ffb25c", "#ff9c50", "#4a4270", "#ffc690", "#7c4c78"),
      palette("#1d2a5c", "#8a3c74", "#f4743c", "#ff7430", "#342c56", "#ff9a66", "#54305c"),
    ],
    elevation: [0.06, 0.2],
    glow: 1.3,
    directLight: 0.5,
  },
  dusk: {
    palettes: [
      palette("#161c48", "#5c4a8c", "#e0838c", "#ff9a80", "#2c2c58", "#c88aa8", "#43406e"),
      palette("#14264e", "#3f6090", "#d8a08c", "#ffb490", "#26385e", "#b8a0b4", "#3d4a74"),
    ],
    elevation: [0.02, 0.1],
    glow: 0.7,
    directLight: 0.3,
  },
  night: {
    palettes: [
      palette("#050a1c", "#0d1c40", "#24426e", "#c8d8f8", "#101c38", "#3c5078", "#0e1830"),
      palette("#07091e", "#161a48", "#3c3670", "#d8d4f4", "#16183a", "#46487c", "#121432"),
      palette("#03101c", "#083044", "#1c5a6c", "#c8ecf4", "#0a2234", "#2c5a6c", "#081c2a"),
    ],
    elevation: [0.55, 0.85],
    glow: 0.22,
    directLight: 0.13,
  },
};
const storm = palette("#1a2430", "#425264", "#8e9ca4", "#dce4e4", "#46566a", "#98a6b0", "#222c38");
const anyTime = ["dawn", "day", "day", "golden", "sunset", "dusk", "night"] as const;
const stormTimes = ["day", "golden", "dusk"] as const;

const brightness = ([red, green, blue]: Colour) => 0.3 * red + 0.55 * green + 0.15 * blue;

/** The lighting for a prompt. Without a time of day, random; or daylight for named colours, which dusk would hide. */
export function lightingOf(hints: PromptHints, random: Random): Lighting {
  const drawn = pick(random, hints.storm ? stormTimes : anyTime);
  const time = hints.time ?? (hints.colours ? "day" : drawn);
  const timeOfDay = timesOfDay[time];
  const colours = pick(random, timeOfDay.palettes);
  // The first colour tints the upper sky and the shade, the last one the horizon and the light.
  const [high, low] = [hints.colours?.[0], hints.colours?.at(-1)].map((colour) => (colour ? hex(colour) : undefined));
  const colourOf = (name: keyof Palette): Colour => {
    const colour = hints.storm ? mix(colours[name], times(storm[name], timeOfDay.directLight), 0.8) : colours[name];
    const tint = ["horizon", "light", "cloudLit"].includes(name) ? low : high;
    if (!tint) return colour;
    const sameBrightness = times(tint, (brightness(colour) * 1.1) / Math.max(brightness(tint), 0.05));
    return mix(colour, sameBrightness, name === "light" ? 0.15 : 0.3);
  };
  const [middle, horizon, shade] = [colourOf("middle"), colourOf("horizon"), colourOf("shade")];
  return {
    zenith: times(colourOf("zenith"), between(random, 0.9, 1.1)),
    middle,
    horizon,
    light: colourOf("light"),
    shade,
    cloudLit: colourOf("cloudLit"),
    cloudShade: colourOf("cloudShade"),
    elevation: between(random, ...timeOfDay.elevation),
    glow: timeOfDay.glow * (hints.storm ? 0.25 : 1),
    directLight: hints.storm ? Math.max(0.12, timeOfDay.directLight * 0.6) : timeOfDay.directLight,
    haze: mix(times(mix(horizon, middle, 0.5), time === "day" ? 0.95 : 0.72), shade, 0.25),
    isNight: time === "night",
  };
}
