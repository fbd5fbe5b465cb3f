import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

/** The sampling interval in milliseconds. Node measures the time between samples, so the interval is subtracted. */
const resolution = 20;

/**
 * The delay of the event loop since the last scrape. Sampling starts with the first scrape, because it wakes the
 * process fifty times a second.
 */
export function createLoopDelay(closing: AbortSignal) {
  let histogram: IntervalHistogram | undefined;
  closing.addEventListener("abort", () => histogram?.disable());

  /** Seconds by quantile; empty before the first sample. */
  return (quantiles: readonly number[]): (readonly [quantile: number, seconds: number])[] => {
    if (!histogram) {
      histogram = monitorEventLoopDelay({ resolution });
      histogram.enable();
      return [];
    }
    if (histogram.count === 0) return [];
    const delay = (quantile: number) =>
      Math.max(0, (histogram?.percentile(quantile * 100) ?? 0) / 1e6 - resolution) / 1e3;
    const read = quantiles.map((quantile) => [quantile, delay(quantile)] as const);
    histogram.reset();
    return read;
  };
}
