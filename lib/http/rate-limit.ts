import type { Clock } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Connection } from "../store/engine.ts";
import type { Store } from "../store/store.ts";
import { httpRepository } from "./repository.ts";

/** SPEC "Limits": "1,000 requests per 10-minute window, per API key". */
const window_ms = milliseconds("10m");
/** Beyond this many buckets in one window, further addresses share one, which bounds memory. */
const mostBuckets = 50_000;

/** CONTRACT section 7: "0: no limit, `X-RateLimit-Limit` and `-Remaining` are then 1000000000 and stay". */
const unlimited = 1_000_000_000;

/** The numbers of the rate-limit headers. `reset_at` is a Unix timestamp in seconds. */
export interface Window {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly reset_at: number;
  readonly retry_after: number;
  /** Whether a manual clock counts it: such a clock ends no window by itself. */
  readonly stands: boolean;
}

interface Bucket {
  requests: number;
  unwritten: boolean;
}
interface Saved {
  readonly started_at: number;
  readonly buckets: readonly (readonly [string, Bucket])[];
}

export type RateLimits = ReturnType<typeof createRateLimits>;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly dirty: () => void;
  /** Where several processes count in the same rows. */
  readonly counters?: Connection | undefined;
}

/**
 * Fixed windows of ten minutes, counted in memory and written once a second by `flush`: a commit a request would cost too
 * much. A crash forgets the last second at most. Calls `dirty` when there is something to write. Several processes count
 * each request in its row, without waiting for a disk.
 */
export function createRateLimits({ store, clock, dirty, counters }: Ports) {
  const rows = store.using(httpRepository);
  const together = counters && store.on(counters, httpRepository);
  const buckets = new Map<string, Bucket>();
  /** When the present window started. */
  let current = 0;

  const startOfWindow = (): number => {
    const started_at = Math.floor(clock.now() / window_ms) * window_ms;
    if (started_at !== current) {
      buckets.clear();
      current = started_at;
    }
    return started_at;
  };

  const windowOf = (requests: number, limit: number, started_at: number, allowed = requests < limit): Window => {
    const reset = started_at + window_ms;
    const retry_after = Math.max(1, Math.ceil((reset - clock.now()) / 1000));
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - requests),
      reset_at: reset / 1000,
      retry_after,
      stands: clock.mode === "manual",
    };
  };

  const load = async (name: string, started_at: number) => {
    const row = await rows().window({ bucket: name });
    // The next window may have started while the store read.
    if (started_at !== current) return { requests: 0, unwritten: true };
    const bucket = buckets.get(name) ?? {
      requests: row?.started_at === started_at ? row.requests : 0,
      unwritten: false,
    };
    buckets.set(name, bucket);
    return bucket;
  };

  const count = (bucket: Bucket, limit: number, started_at: number): Window => {
    const allowed = bucket.requests < limit;
    if (allowed) {
      bucket.requests += 1;
      if (!bucket.unwritten) dirty();
      bucket.unwritten = true;
    }
    return windowOf(bucket.requests, limit, started_at, allowed);
  };

  /** A window that is used up stays so, and costs no statement. */
  const countTogether = async (name: string, limit: number, started_at: number): Promise<Window> => {
    const bucket = buckets.get(name) ?? { requests: 0, unwritten: false };
    buckets.set(name, bucket);
    if (bucket.requests >= limit) return windowOf(bucket.requests, limit, started_at);
    const counted = await together?.count({ bucket: name, started_at, limit });
    const requests = counted?.requests ?? limit;
    bucket.requests = Math.max(bucket.requests, requests);
    return windowOf(requests, limit, started_at, counted !== undefined);
  };

  return {
    /** Counts a request if the limit allows it; without a promise if this process knows the bucket. */
    take(wanted: string, limit: number): Window | Promise<Window> {
      const started_at = startOfWindow();
      if (limit === 0) return windowOf(0, unlimited, started_at);
      const name =
        buckets.has(wanted) || buckets.size < mostBuckets || wanted.startsWith("key_") ? wanted : "address *";
      if (together) return countTogether(name, limit, started_at);
      const bucket = buckets.get(name);
      if (bucket) return count(bucket, limit, started_at);
      return load(name, started_at).then((loaded) => count(loaded, limit, started_at));
    },

    /** The window by this process's own count, without counting and without the store. */
    look: (name: string, limit: number): Window =>
      windowOf(buckets.get(name)?.requests ?? 0, limit || unlimited, startOfWindow()),

    async flush(tx: Tx) {
      for (const [bucket, state] of buckets) {
        if (!state.unwritten) continue;
        const { requests } = state;
        tx.afterCommit(() => {
          state.unwritten = state.requests !== requests;
          if (state.unwritten) dirty();
        });
        await rows(tx).saveWindow({
          bucket,
          started_at: current,
          requests,
        });
      }
    },

    save: (): Saved => ({ started_at: current, buckets: [...buckets].map(([name, bucket]) => [name, { ...bucket }]) }),
    load(state: unknown) {
      const saved = state as Saved;
      current = saved.started_at;
      buckets.clear();
      for (const [name, bucket] of saved.buckets) buckets.set(name, { ...bucket });
      if (saved.buckets.some(([, { unwritten }]) => unwritten)) dirty();
    },

    async prune() {
      const before = clock.now() - window_ms;
      while ((await store.transaction("rows", (tx) => rows(tx).pruneWindows({ before }))) > 0);
    },
  };
}
