import { createHash } from "node:crypto";
import { palettes } from "./abstract-scene.ts";
import { cell, glyphOf, linesOf } from "./bitmap-font.ts";
import { h264 } from "./h264-lossless.ts";
import { indexedJpeg } from "./indexed-jpeg.ts";
import type { IndexedPicture, Rgb } from "./indexed-picture.ts";
import { indexedWebp } from "./indexed-webp.ts";
import { mp4 } from "./mp4-writer.ts";
import type { PaintOrder } from "./painter.ts";
import { indexedPng } from "./png.ts";
import { hintsOf } from "./prompt-words.ts";
import { between, pick, seededRandom } from "./random.ts";

const shades = 64;
const [ink, panel] = [shades, shades + 1];
/** The preferred number of characters in a line, for short prompts. */
const wantedColumns = 22;
const framesPerSecond = 24;

const rgb = (text: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16)) as unknown as Rgb;
const blend = (one: Rgb, other: Rgb, part: number) =>
  one.map((value, i) => Math.round(value + ((other[i] as number) - value) * part)) as unknown as Rgb;

/** A gradient through the colours that a prompt names, or through colours that prompt and seed choose; then ink and panel. */
function paletteOf({ prompt, seed }: PaintOrder): Rgb[] {
  const random = seededRandom(createHash("sha256").update(`${seed} ${prompt}`).digest().readUInt32LE());
  const named = hintsOf(prompt).colours?.map(rgb) ?? [];
  const stops = named.length > 0 ? named : pick(random, palettes).slice(1, 4).map(rgb);
  const [first] = stops as [Rgb];
  if (stops.length === 1) stops.unshift(blend(first, [0, 0, 0], 0.5));
  if (random() < 0.5) stops.reverse();
  const phase = between(random, 0.4, 0.6);
  const gradient = Array.from({ length: shades }, (_, i) => {
    const part = (i / (shades - 1)) ** (Math.log(0.5) / Math.log(phase)) * (stops.length - 1);
    const left = Math.min(stops.length - 2, Math.floor(part));
    return blend(stops[left] as Rgb, stops[left + 1] as Rgb, part - left);
  });
  return [...gradient, [255, 255, 255], [26, 26, 26]];
}

function fill({ pixels, stride }: IndexedPicture, x: number, y: number, width: number, height: number, index: number) {
  for (let row = y; row < y + height; row++) pixels.fill(index, row * stride + x, row * stride + x + width);
}

/** Writes the prompt in the middle, on a panel behind each line, in the largest dots that let it fit. */
function write(picture: IndexedPicture, prompt: string, width: number, height: number): void {
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
    fill(picture, left - dot, y, long + dot, cell.height * dot, panel);
    for (const [at, character] of characters.entries())
      for (const [row, dots] of glyphOf(character).entries())
        for (let column = 0; column < dots.length; column++)
          if (dots[column] === "#")
            fill(picture, left + (at * cell.width + column) * dot, y + (row + 1) * dot, dot, dot, ink);
  }
}

/**
 * A placeholder: a gradient in a prompt's colours, with the prompt on it. A JPEG file or a film pads it to whole blocks, whose rows and
 * columns beyond the size are not shown.
 */
function placeholder(order: PaintOrder, stride = order.width, rows = order.height): IndexedPicture {
  const { width, height, prompt } = order;
  const picture = { stride, pixels: new Uint8Array(stride * rows), palette: paletteOf(order) };
  for (let y = 0; y < rows; y++)
    fill(picture, 0, y, stride, 1, Math.min(shades - 1, Math.floor((y * shades) / height)));
  write(picture, prompt, width, height);
  return picture;
}

export function placeholderImage(order: PaintOrder): Uint8Array {
  const { format, width, height } = order;
  if (format === "png") return indexedPng(placeholder(order));
  if (format === "webp") return indexedWebp(placeholder(order));
  const [stride, rows] = [width, height].map((side) => Math.ceil(side / 8) * 8);
  return indexedJpeg(placeholder(order, stride, rows), width, height);
}

/** The placeholder as a film: a bar at the lower edge shows how much of it has passed. */
export function placeholderFilm(order: PaintOrder): Uint8Array {
  const { width, height, duration_ms } = order;
  const [across, down] = [Math.ceil(width / 16), Math.ceil(height / 16)];
  const picture = placeholder(order, across * 16, down * 16);
  const thick = Math.max(2, Math.round(height / 40));
  const count = Math.round((duration_ms * framesPerSecond) / 1000);
  const film = h264(picture, width, height, count, (frame) => {
    fill(picture, 0, height - thick, Math.round((width * (frame + 1)) / count), thick, ink);
  });
  return mp4({ ...film, width, height, framesPerSecond });
}
