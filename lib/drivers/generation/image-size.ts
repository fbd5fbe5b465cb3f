import type { GenerationWork } from "./contract.ts";

/** The nearest of the sizes by shape, then by area. Without sizes, multiples of 16, which every model accepts. */
export function sizeFor(
  { width, height }: Pick<GenerationWork, "width" | "height">,
  sizes?: readonly string[],
): string {
  const by16 = (side: number) => Math.max(16, 16 * Math.round(side / 16));
  const distance = (size: string) => {
    const [w = 1, h = 1] = size.split("x").map(Number);
    return Math.abs(Math.log((w * height) / (h * width))) * 1000 + Math.abs(Math.log((w * h) / (width * height)));
  };
  const [nearest] = [...(sizes ?? [])].sort((a, b) => distance(a) - distance(b));
  return nearest ?? `${by16(width)}x${by16(height)}`;
}

export function sidesFor(work: GenerationWork, sizes?: readonly string[]): { width: number; height: number } {
  const [width = work.width, height = work.height] = sizeFor(work, sizes).split("x").map(Number);
  return { width, height };
}
