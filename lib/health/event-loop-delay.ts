import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

/** How often it is looked, in milliseconds. What is measured is the time between two looks, so this is taken off. */
const resolution = 20;

/**
 * How late the event loop was since it was last asked. It is watched from the first time that somebody asks, because
 * watching wakes the process fifty times a second.
 */
export function createLoopDelay(closing: AbortSignal) {
  let histogram: IntervalHistogram | undefined;
  closing.addEventListener("abort", () => histogram?.disable());

  /** Seconds by quantile; nothing where nothing was measured yet. */
  return (quantiles: readonly number[]): (readonly [quantile: number, seconds: number])[] => {
    if (!histogram) {
      histogram = monitorEventLoopDelay({ resolution });
      histogram.enable();
      return [];
    }
    if (histogram.count === 0) return [];
    const late = (quantile: number) =>
      Math.max(0, (histogram?.percentile(quantile * 100) ?? 0) / 1e6 - resolution) / 1e3;
    const read = quantiles.map((quantile) => [quantile, late(quantile)] as const);
    histogram.reset();
    return read;
  };
}
