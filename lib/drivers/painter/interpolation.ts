export const clamp = (value: number, low: number, high: number) => (value < low ? low : Math.min(value, high));

/** 0 below `from`, 1 above `to`, and a smooth curve between. */
export function smoothstep(from: number, to: number, value: number): number {
  const t = clamp((value - from) / (to - from), 0, 1);
  return t * t * (3 - 2 * t);
}
