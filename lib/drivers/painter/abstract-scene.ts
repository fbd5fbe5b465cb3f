import { type Canvas, type Colour, hex, mix, sum, times } from "./canvas.ts";
import { smoothstep } from "./interpolation.ts";
import { NoiseField } from "./noise-field.ts";
import type { PromptHints } from "./prompt-words.ts";
import { between, pick, type Random } from "./random.ts";
import { shapesOf } from "./shapes.ts";

export const palettes: readonly [string[], ...string[][]] = [
  ["#0b1d51", "#2b5fd0", "#33c7d8", "#f6d9a8", "#f2745f"],
  ["#2a0845", "#8b2fc9", "#f15bb5", "#fee0c0", "#00bbf9"],
  ["#052f2c", "#0f7a66", "#58c48a", "#f4f1bb", "#ed8a5b"],
  ["#1f1147", "#5a2a9c", "#d6409f", "#ff9d6c", "#fff0c9"],
  ["#10212b", "#23606e", "#8fc1b5", "#f3e7d3", "#e07a5f"],
  ["#0d1b2a", "#415a77", "#9fb8cf", "#f5efe0", "#d4a373"],
];

const paper: Colour = [1, 1, 1];

/** Colours from dark to bright: those of the prompt, in its order, or a palette. */
function rampOf(random: Random, { colours }: PromptHints): readonly Colour[] {
  const chosen = pick(random, palettes).map(hex);
  if (!colours) return chosen;
  const named = colours.map(hex);
  const [first, last] = [named[0] as Colour, named.at(-1) as Colour];
  if (named.length === 1)
    return [times(first, 0.12), times(first, 0.5), first, mix(first, paper, 0.3), mix(first, paper, 0.7)];
  return [times(first, 0.35), ...named.flatMap((one) => [one, one]), mix(last, paper, 0.45)];
}

/** An abstract picture: shapes if the prompt names them, otherwise folds. */
export function abstractOf(random: Random, hints: PromptHints): (canvas: Canvas, time: number) => void {
  const colours = rampOf(random, hints);
  return hints.shapes ? shapesOf(random, colours, hints.shapes) : foldsOf(random, colours);
}

/** Folds like silk or marble: noise warped by noise, coloured by height and lit by slope. */
function foldsOf(random: Random, colours: readonly Colour[]): (canvas: Canvas, time: number) => void {
  const field = new NoiseField(random, 256, 2, 3);
  const fine = new NoiseField(random, 512, 8, 5);
  const [scale, bend, folds] = [between(random, 0.35, 0.6), between(random, 0.35, 0.8), between(random, 2.2, 5)];
  const [lightX, lightY] = [between(random, -1, 1), -0.8];
  const colourOf = (tone: number): Colour => {
    const place = Math.min(0.9999, Math.max(0, tone)) * (colours.length - 1);
    const left = Math.floor(place);
    return mix(colours[left] as Colour, colours[left + 1] as Colour, smoothstep(0, 1, place - left));
  };
  return (canvas, time) => {
    const { width, height, unit } = canvas;
    const drift = time * 0.012;
    const heightAt = (u: number, v: number) => {
      const a = field.at(u + drift, v) - 0.5;
      const b = field.at(v + 0.37, u - drift) - 0.5;
      const c = field.at(u * 0.7 + a * bend + 0.2, v * 0.7 + b * bend + drift * 0.6);
      return c + 0.25 * Math.sin((c * folds + a) * 6.283);
    };
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++, at += 3) {
        const [u, v] = [(x / unit) * scale, (y / unit) * scale];
        const here = heightAt(u, v);
        const slope = (heightAt(u + 0.004 * lightX, v + 0.004 * lightY) - here) * 30;
        const weave = (fine.at(u * 3, v * 3 + here * 2) - 0.5) * 0.06;
        const tone = smoothstep(0.1, 0.95, here + weave);
        const light = 0.78 + 0.4 * Math.min(1.2, Math.max(-1.3, slope));
        const shine = smoothstep(0.55, 1.5, slope) * 0.28;
        canvas.set(at, sum(colourOf(tone), light, paper, shine));
      }
    }
  };
}
