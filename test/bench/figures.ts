/**
 * The goal of a figure: the floor is acceptable, the aim is the target. If the aim is below the floor, less is better.
 */
export interface Goal {
  readonly floor: number;
  readonly aim: number;
}

/** One line of the result: the median and the spread of some measurements. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly goal?: Goal;
}

const middle = (sorted: readonly number[]) =>
  ((sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) / 2;

export function figure(name: string, unit: string, values: readonly number[], goal?: Goal): Figure {
  const sorted = [...values].sort((a, b) => a - b);
  const [low = Number.NaN, high = Number.NaN] = [sorted[0], sorted.at(-1)];
  return { name, unit, median: middle(sorted), low, high, ...(goal && { goal }) };
}

/** The milliseconds that some work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** The milliseconds of each of several runs of the same work. */
export async function repeated(times: number, work: (i: number) => unknown): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push(await timed(() => work(i)));
  return all;
}

/** A percentile; `part` is 0.99 for the 99th. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
}

const short = (value: number) => (value >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3));

const reaches = (median: number, goal: Goal, wanted: number) =>
  goal.aim > goal.floor ? median >= wanted : median <= wanted;

export const missesItsFloor = ({ median, goal }: Figure): boolean =>
  goal !== undefined && !reaches(median, goal, goal.floor);

function verdict(one: Figure): string {
  const { median, goal } = one;
  if (!goal) return "";
  const word = reaches(median, goal, goal.aim)
    ? "reaches its aim"
    : missesItsFloor(one)
      ? "MISSES ITS FLOOR"
      : "above its floor";
  return `floor ${goal.floor}, aim ${goal.aim}: ${word}`;
}

/** The figures as a table. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map((one) => [
    one.name,
    `${short(one.median)} ${one.unit}`,
    `${short(one.low)} – ${short(one.high)}`,
    verdict(one),
  ]);
  const widths = [0, 1, 2].map((i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map(([name = "", value = "", spread = "", goal = ""]) =>
      `${name.padEnd(widths[0] ?? 0)}  ${value.padStart(widths[1] ?? 0)}   ${spread.padEnd(widths[2] ?? 0)}   ${goal}`.trimEnd(),
    )
    .join("\n");
}
