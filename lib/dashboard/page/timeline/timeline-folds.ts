/** An idle time that the axis draws shorter than it is. */
export interface Fold {
  readonly from: number;
  readonly to: number;
  /** How much of it is left out. */
  readonly cut: number;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** A time without entries that is longer is idle. */
const pause = minute;

/** The idle times between these times that are long beside the busy ones, which would have few pixels. */
export function foldsOf(times: readonly number[]): readonly Fold[] {
  const sorted = [...new Set(times)].sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((to, i) => ({ from: sorted[i] ?? to, to, length: to - (sorted[i] ?? to) }));
  const busy = gaps.reduce((sum, { length }) => sum + (length > pause ? 0 : length), 0);
  if (busy === 0) return [];
  const long = gaps.filter(({ length }) => length > Math.max(pause, busy / 2));
  // Together the folds take a third of the axis at most.
  const left = busy / Math.max(8, 2 * long.length);
  return long.map(({ from, to, length }) => ({ from, to, cut: length - left }));
}

/** The place of a time on the folded axis, in milliseconds. */
export const placeOf = (folds: readonly Fold[], time: number): number =>
  folds.reduce((place, { from, to, cut }) => {
    if (time <= from) return place;
    return place - cut * Math.min(1, (time - from) / (to - from));
  }, time);

/** The time at a place of the folded axis. */
export function timeAt(folds: readonly Fold[], place: number): number {
  let removed = 0;
  for (const { from, to, cut } of folds) {
    const begin = from - removed;
    if (place <= begin) break;
    const left = to - from - cut;
    if (place < begin + left) return from + ((place - begin) / left) * (to - from);
    removed += cut;
  }
  return place + removed;
}

const steps = [
  ...[1, 5, 10, 50, 100, 500],
  ...[1, 2, 5, 10, 30].map((n) => n * 1000),
  ...[1, 2, 5, 10, 30].map((n) => n * minute),
  ...[1, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * day),
];

const dayOf = (time: number) => Math.floor(time / day);

interface Tick {
  readonly at: number;
  readonly text: string;
}

/** The times at which the axis has a line, with their labels. The view is in places; folds have no lines. */
export function ticksOf(from: number, to: number, most: number, folds: readonly Fold[]): readonly Tick[] {
  const step = steps.find((one) => (to - from) / one <= most) ?? 365 * day;
  const cut = step >= day ? [5, 10] : step >= minute ? [11, 16] : step >= 1000 ? [11, 19] : [14, 23];
  const [begin, end] = [timeAt(folds, from), timeAt(folds, to)];
  const edges = [begin, ...folds.flatMap((fold) => [fold.from, fold.to]), end];
  const ticks: Tick[] = [];
  for (let i = 0; i < edges.length; i += 2) {
    const [first, last] = [Math.max(begin, edges[i] ?? 0), Math.min(end, edges[i + 1] ?? 0)];
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) {
      // Midnight, and the first line after a fold of days, say which day it is.
      const isMidnight = step >= minute && at % day === 0;
      const isNew = i > 0 && at - first < step && step < day && !isMidnight && dayOf(edges[i - 1] ?? 0) !== dayOf(at);
      const [date, time] = [[5, 10], isMidnight ? [0, 0] : cut].map(([a, b]) => new Date(at).toISOString().slice(a, b));
      ticks.push({ at, text: isMidnight || isNew ? `${date} ${time}`.trim() : (time ?? "") });
    }
  }
  return ticks;
}
