import { scatter } from "./noise.ts";

/** Snow or rain before everything else, drawn on the finished frame, since it moves too fast to be blended. */
export type Fall = (rgba: Uint8Array | Uint8ClampedArray, width: number, height: number, time: number) => void;

export function fallOf(kind: "snow" | "rain", seed: number): Fall {
  return (rgba, width, height, time) => {
    const unit = Math.sqrt(width * height);
    for (let i = 0; i < (kind === "snow" ? 700 : 520); i++) {
      const size = scatter(seed, i) ** 2;
      const speed = kind === "snow" ? 0.05 + 0.1 * size : 1.3 + 0.7 * size;
      const drift = kind === "snow" ? Math.sin(time * 0.9 + i) * 0.008 : 0;
      const y = ((scatter(seed, i, 1) + time * speed) % 1.1) - 0.05;
      const x = (scatter(seed, i, 2) + drift + (kind === "snow" ? 0 : y * -0.06) + 1.1) % 1;
      if (kind === "snow")
        flake(rgba, width, height, x * width, y * height, unit * (0.0012 + 0.0035 * size), 0.35 + 0.5 * size);
      else streak(rgba, width, height, x * width, y * height, unit * (0.02 + 0.03 * size), 0.1 + 0.16 * size);
    }
  };
}

function lighten(rgba: Uint8Array | Uint8ClampedArray, at: number, part: number): void {
  for (let i = at; i < at + 3; i++) rgba[i] = (rgba[i] as number) * (1 - part) + 240 * part;
}

function flake(
  rgba: Uint8Array | Uint8ClampedArray,
  width: number,
  height: number,
  x: number,
  y: number,
  radius: number,
  strength: number,
) {
  const reach = radius + 1;
  for (let row = Math.max(0, Math.ceil(y - reach)); row <= Math.min(height - 1, y + reach); row++) {
    for (let column = Math.max(0, Math.ceil(x - reach)); column <= Math.min(width - 1, x + reach); column++) {
      const inside = 1 - Math.hypot(column - x, row - y) / reach;
      if (inside > 0) lighten(rgba, (row * width + column) * 4, strength * Math.min(1, inside * 1.6));
    }
  }
}

function streak(
  rgba: Uint8Array | Uint8ClampedArray,
  width: number,
  height: number,
  x: number,
  y: number,
  length: number,
  strength: number,
) {
  for (let i = 0; i < length; i++) {
    const [row, column] = [Math.round(y + i), Math.round(x - i * 0.09)];
    if (row >= 0 && row < height && column >= 0 && column < width)
      lighten(rgba, (row * width + column) * 4, strength * (i / length));
  }
}
