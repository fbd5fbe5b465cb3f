/** One line of the result: the median of some measurements, and how far they lie apart. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

const middle = (sorted: readonly number[]) =>
  ((sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) / 2;

export function figure(name: string, unit: string, values: readonly number[]): Figure {
  const sorted = [...values].sort((a, b) => a - b);
  return { name, unit, median: middle(sorted), low: sorted[0] ?? Number.NaN, high: sorted.at(-1) ?? Number.NaN };
}

/** Milliseconds of some work. */
export async function timed(work: () => unknown): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** Each of several runs of the same work, in milliseconds. */
export async function repeated(times: number, work: (i: number) => unknown): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push(await timed(() => work(i)));
  return all;
}

const short = (value: number) => (value >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3));

/** A table for people. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, unit, median, low, high }) => [
    name,
    `${short(median)} ${unit}`,
    `${short(low)} – ${short(high)}`,
  ]);
  const widths = [0, 1, 2].map((i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map(
      ([name = "", value = "", spread = ""]) =>
        `${name.padEnd(widths[0] ?? 0)}  ${value.padStart(widths[1] ?? 0)}   ${spread}`,
    )
    .join("\n");
}
