import { type Canvas, type Colour, mix } from "./canvas.ts";
import { clamp } from "./interpolation.ts";
import type { Shape } from "./prompt-words.ts";
import { between, pick, type Random } from "./random.ts";

/** The distance of a point from a shape of radius 1 around the origin; negative inside. */
const outside: Readonly<Record<Shape, (x: number, y: number) => number>> = {
  circle: (x, y) => Math.hypot(x, y) - 1,
  triangle: (x, y) => Math.max(y - 0.5, 0.866 * Math.abs(x) - 0.5 * y - 0.5),
  square: (x, y) => Math.max(Math.abs(x), Math.abs(y)) - 0.75,
};

/** Flat shapes of several sizes, spread over a plain background, small ones above large ones. They turn slowly. */
export function shapesOf(
  random: Random,
  ramp: readonly Colour[],
  kinds: readonly [Shape, ...Shape[]],
): (canvas: Canvas, time: number) => void {
  const colours = ramp.slice(1, -1) as [Colour, ...Colour[]];
  const ground = mix(ramp.at(-1) as Colour, [1, 1, 1], 0.5);
  const columns = 6;
  const shapes = Array.from({ length: columns * columns }, (_, i) => ({
    isOutside: outside[kinds[i % kinds.length] ?? kinds[0]],
    x: ((i % columns) + between(random, 0.1, 0.9)) / columns,
    y: (Math.floor(i / columns) + between(random, 0.1, 0.9)) / columns,
    size: between(random, 0.22, 0.48) ** 2,
    colour: pick(random, colours),
    angle: between(random, 0, Math.PI * 2),
    turn: between(random, -0.3, 0.3),
    part: between(random, 0.75, 0.95),
  })).sort((one, other) => other.size - one.size);
  return (canvas, time) => {
    const { width, height, unit } = canvas;
    for (let at = 0; at < width * height * 3; at += 3) canvas.set(at, ground);
    for (const { isOutside, x, y, size, colour, angle, turn, part } of shapes) {
      const [left, top, radius] = [x * width, y * height, size * unit];
      const [cos, sin] = [Math.cos(angle + turn * time), Math.sin(angle + turn * time)];
      const reach = radius * 1.1 + 1;
      for (let row = Math.max(0, Math.ceil(top - reach)); row <= Math.min(height - 1, top + reach); row++) {
        for (let column = Math.max(0, Math.ceil(left - reach)); column <= Math.min(width - 1, left + reach); column++) {
          const [u, v] = [(column - left) / radius, (row - top) / radius];
          const cover = clamp(0.5 - isOutside(u * cos + v * sin, v * cos - u * sin) * radius, 0, 1) * part;
          if (cover > 0) canvas.cover((row * width + column) * 3, colour, cover);
        }
      }
    }
  };
}
