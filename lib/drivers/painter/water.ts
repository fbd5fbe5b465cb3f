import { type Canvas, type Colour, sum } from "./canvas.ts";
import { smoothstep } from "./interpolation.ts";
import type { SceneLight } from "./layers.ts";

/** Water from the row `shore` down. It mirrors the picture above, with waves that grow towards the viewer. */
export function paintWater(
  canvas: Canvas,
  shore: number,
  { lighting, field, sunX, sparkles }: SceneLight,
  colour: Colour,
  calm: number,
  time: number,
): void {
  const { width, height, unit } = canvas;
  const glitter = sparkles ? (lighting.isNight ? 0.3 : lighting.glow * 0.9) : 0;
  for (let y = shore; y < height; y++) {
    const below = (y - shore + 0.5) / unit;
    const far = 1 / (below + 0.045);
    const v = far * 0.24;
    const sway = (0.004 + below * 0.16) * (1.3 - calm);
    const deep = smoothstep(0, 0.55, below);
    for (let x = 0; x < width; x++) {
      const across = (x - width / 2) / unit;
      const u = across * far * 0.1;
      const swell = field.at(u + time * 0.011, v * 1.9 - time * 0.02) - 0.5;
      const wave = field.at(u * 2.7 - time * 0.021, v * 5.3 + swell * 0.2 + time * 0.03) - 0.5;
      const ripple = field.at(u * 6.1 + time * 0.03, v * 12.1 + time * 0.05) - 0.5;
      const tilt = swell + wave * 0.9 + ripple * 0.5;
      const up = y - shore + (tilt * sway * 1.6 + 0.002) * unit;
      const row = shore - 1 - Math.floor(Math.min(shore - 1, Math.max(0, up)));
      const column = Math.floor(Math.min(width - 1, Math.max(0, x + wave * sway * 0.5 * unit)));
      // Mixes two points of the mirrored picture, one above the other: small waves stretch lights into streaks.
      const from = (row * width + column) * 3;
      const also = (Math.max(0, row - Math.floor(sway * unit * 0.22)) * width + column) * 3;
      const mirror = 0.86 - deep * 0.42 - tilt * 0.5 * (1 - calm * 0.5);
      const away = (across - (sunX - 0.5) * (width / unit)) / (0.035 + below * 0.32);
      const spark = glitter * Math.exp(-away * away * 1.6) * smoothstep(0.04, 0.24, tilt + 0.06 - deep * 0.08);
      const mirrored = sum(canvas.get(from), 1, canvas.get(also), 1);
      const shown = sum(mirrored, mirror / 2, colour, 1 - mirror);
      canvas.set((y * width + x) * 3, sum(shown, 1, lighting.light, spark));
    }
  }
}
