import { createHash } from "node:crypto";
import { palettes } from "./abstract-scene.ts";
import { cell, glyphOf, linesOf } from "./bitmap-font.ts";
import type { Frame } from "./canvas.ts";
import { encodeFilm } from "./film-encoder.ts";
import type { PaintOrder } from "./painter.ts";
import { hintsOf } from "./prompt-words.ts";
import { between, pick, seededRandom } from "./random.ts";
import { lightenYuv, yuvOf } from "./yuv.ts";

type Rgb = readonly [red: number, green: number, blue: number];

const shades = 64;
/** The preferred line length for short prompts, in characters. */
const wantedColumns = 22;
/** A low rate, because only a growing bar moves and every frame costs encoding time. */
const framesPerSecond = 4;

/** The four bytes of a pixel as one number, in the machine's byte order. */
const pixelOf = (colour: Rgb) => new Uint32Array(Uint8Array.of(...colour, 255).buffer)[0] as number;
const [ink, panel] = [pixelOf([255, 255, 255]), pixelOf([26, 26, 26])];

const rgb = (text: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16)) as unknown as Rgb;
const blend = (one: Rgb, other: Rgb, part: number) =>
  one.map((value, i) => Math.round(value + ((other[i] as number) - value) * part)) as unknown as Rgb;

/** The pixels of a gradient. The prompt names its colours, otherwise prompt and seed choose them. */
function gradientOf({ prompt, seed }: PaintOrder): readonly number[] {
  const random = seededRandom(createHash("sha256").update(`${seed} ${prompt}`).digest().readUInt32LE());
  const named = hintsOf(prompt).colours?.map(rgb) ?? [];
  const stops = named.length > 0 ? named : pick(random, palettes).slice(1, 4).map(rgb);
  const [first] = stops as [Rgb];
  if (stops.length === 1) stops.unshift(blend(first, [0, 0, 0], 0.5));
  if (random() < 0.5) stops.reverse();
  const phase = between(random, 0.4, 0.6);
  return Array.from({ length: shades }, (_, i) => {
    const part = (i / (shades - 1)) ** (Math.log(0.5) / Math.log(phase)) * (stops.length - 1);
    const left = Math.min(stops.length - 2, Math.floor(part));
    return pixelOf(blend(stops[left] as Rgb, stops[left + 1] as Rgb, part - left));
  });
}

interface Drawing {
  readonly pixels: Uint32Array;
  readonly width: number;
  readonly height: number;
}

function fill({ pixels, width }: Drawing, x: number, y: number, across: number, down: number, pixel: number) {
  for (let row = y; row < y + down; row++) pixels.fill(pixel, row * width + x, row * width + x + across);
}

/** Writes the prompt in the middle, on a panel behind each line, with the largest dots that fit. */
function write(drawing: Drawing, prompt: string): void {
  const { width, height } = drawing;
  let dot = Math.max(1, Math.floor(width / (wantedColumns * cell.width)));
  const room = () => [Math.floor(width / dot / cell.width) - 1, Math.floor(height / dot / cell.height) - 1] as const;
  while (dot > 1 && linesOf(prompt, room()[0], Number.POSITIVE_INFINITY).length > room()[1]) dot--;
  const [columns, rows] = room();
  if (columns < 4) return;
  const lines = linesOf(prompt, columns, rows);
  const top = Math.floor((height - lines.length * cell.height * dot) / 2);
  for (const [i, line] of lines.entries()) {
    const characters = [...line];
    const long = characters.length * cell.width * dot;
    const [left, y] = [Math.floor((width - long) / 2), top + i * cell.height * dot];
    fill(drawing, left - dot, y, long + dot, cell.height * dot, panel);
    for (const [at, character] of characters.entries())
      for (const [row, dots] of glyphOf(character).entries())
        for (let column = 0; column < dots.length; column++)
          if (dots[column] === "#")
            fill(drawing, left + (at * cell.width + column) * dot, y + (row + 1) * dot, dot, dot, ink);
  }
}

/** A placeholder: a gradient in the prompt's colours, with the prompt on it. */
export function placeholder(order: PaintOrder): Frame {
  const { width, height, prompt } = order;
  const drawing = { pixels: new Uint32Array(width * height), width, height };
  const gradient = gradientOf(order);
  for (let y = 0; y < height; y++) fill(drawing, 0, y, width, 1, gradient[Math.floor((y * shades) / height)] as number);
  write(drawing, prompt);
  return { data: new Uint8ClampedArray(drawing.pixels.buffer), width, height };
}

/** The placeholder as a film. A bar at the lower edge shows the elapsed part. */
export function placeholderFilm(order: PaintOrder): Promise<Uint8Array> {
  const { width, height } = order;
  const frame = yuvOf(placeholder(order));
  const lighten = lightenYuv(frame);
  const thick = Math.max(2, Math.round(height / 40));
  return encodeFilm(order, framesPerSecond, (number, count) => {
    const end = Math.round((width * (number + 1)) / count);
    for (let y = height - thick; y < height; y++) for (let x = 0; x < end; x++) lighten(x, y, 1);
    return frame;
  });
}
