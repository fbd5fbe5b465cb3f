import { bounds, type Meter } from "../http/request-metrics.ts";
import type { QueueLoad } from "../jobs/runner.ts";
import { systemTimer } from "../kernel/clock.ts";
import { monotonicNow } from "../kernel/node/system.ts";

const interval = "30s";
/** The number of samples in an hour. */
const maxSamples = 121;
const quantiles = [0.5, 0.99] as const;

/** The state of the process at one moment. The counters of a meter count from the start, or from a restore. */
interface Sample {
  readonly meter: Meter;
  readonly at: number;
  readonly requests: number;
  readonly failures: number;
  readonly buckets: readonly number[];
  readonly cpu_s: number;
  readonly memory_bytes: number;
  readonly streams: number;
  readonly waiting: number;
  readonly running: number;
  readonly lag_s: number;
}

export type Samples = Sample[];

interface Ports {
  /** Those of the process before a restore, which begins a new meter. */
  readonly samples?: Samples;
  readonly meter: Meter;
  readonly jobs: () => Promise<QueueLoad>;
  readonly now: () => number;
  readonly closing: AbortSignal;
}

/** The figures of half a minute. */
export type Moment = Awaited<ReturnType<History["read"]>>[number];
export type History = ReturnType<typeof createHistory>;

/** The last hour of the process, in memory: a sample every 30 s of the machine's time, from the first request on. */
export function createHistory({ samples = [], meter, jobs, now, closing }: Ports) {
  const sample = async (): Promise<Sample> => {
    const { waiting, running, due_at } = await jobs();
    const all = [...meter.requests.values()];
    const counts = all.flatMap(({ statuses }) => [...statuses]);
    const { user, system } = process.cpuUsage();
    return {
      meter,
      at: monotonicNow(),
      requests: counts.reduce((sum, [, count]) => sum + count, 0),
      failures: counts.reduce((sum, [status, count]) => sum + (status >= 500 ? count : 0), 0),
      buckets: Array.from({ length: bounds.length + 1 }, (_, i) =>
        all.reduce((sum, { buckets }) => sum + (buckets[i] ?? 0), 0),
      ),
      cpu_s: (user + system) / 1e6,
      memory_bytes: process.memoryUsage.rss(),
      streams: meter.streams.sse.size + meter.streams.websocket.size,
      waiting,
      running,
      lag_s: due_at === undefined ? 0 : Math.max(0, now() - due_at) / 1000,
    };
  };

  let cancel = () => {};
  const keep = async () => {
    // A sample that cannot read the store is left out.
    const taken = await sample().catch(() => undefined);
    if (closing.aborted) return;
    if (taken) samples.push(taken);
    samples.splice(0, samples.length - maxSamples);
    cancel = systemTimer(interval, () => void keep());
  };
  closing.addEventListener("abort", () => cancel());
  void keep();

  const between = (before: Sample, after: Sample, latest: number) => {
    const seconds = Math.max(0.001, (after.at - before.at) / 1000);
    // A restore begins with a new meter.
    const counted = before.meter === after.meter ? before : { requests: 0, failures: 0, buckets: [] };
    const buckets = after.buckets.map((count, i) => count - (counted.buckets[i] ?? 0));
    const [p50, p99] = quantiles.map((quantile) => quantileOf(buckets, quantile));
    return {
      seconds_ago: Math.round((latest - after.at) / 1000),
      requests_per_s: (after.requests - counted.requests) / seconds,
      failures_per_s: (after.failures - counted.failures) / seconds,
      p50_s: p50 ?? null,
      p99_s: p99 ?? null,
      cpu: (after.cpu_s - before.cpu_s) / seconds,
      memory_bytes: after.memory_bytes,
      streams: after.streams,
      jobs_waiting: after.waiting,
      jobs_running: after.running,
      lag_s: after.lag_s,
    };
  };

  return {
    /** Oldest first; the last point is the present. */
    async read() {
      const latest = await sample();
      const points = [...samples, latest];
      return points.slice(1).map((after, i) => between(points[i] ?? after, after, latest.at));
    },
  };
}

/** The quantile of a histogram, assuming an even spread within each bucket; undefined if the histogram is empty. */
export function quantileOf(buckets: readonly number[], quantile: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let [before, below] = [0, 0];
  for (const [i, count] of buckets.entries()) {
    // The last bucket has no upper bound, so all its values count as its lower bound.
    const above = bounds[i] ?? below;
    if (before + count >= quantile * total && count > 0)
      return below + ((above - below) * (quantile * total - before)) / count;
    before += count;
    below = above;
  }
  return below;
}
