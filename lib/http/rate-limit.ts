import type { Clock } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Connection } from "../store/engine.ts";
import type { Store } from "../store/store.ts";
import { httpRepository } from "./repository.ts";

/** The length of a rate-limit window (schema/http.md#rate-limits). */
const window_ms = milliseconds("10m");
/** Beyond this many buckets in one window, all new addresses share one bucket. This bounds memory. */
const maxBuckets = 50_000;
/** What happens to a request that would need one more bucket. */
export type WhenFull = "counted together" | "not counted";

/** The limit 0 means unlimited: `X-RateLimit-Limit` and `-Remaining` then always show this number. */
const unlimited = 1_000_000_000;

/** The numbers of the rate-limit headers. `reset_at` is a Unix timestamp in seconds. */
export interface Window {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly reset_at: number;
  /** In seconds; 0 if the request is allowed. */
  readonly retry_after: number;
  /** Whether the clock is manual: the window ends only if somebody moves it. */
  readonly isManual: boolean;
}

interface Bucket {
  requests: number;
  unwritten: boolean;
}
/** The last requests of a window, which processes count one by one instead of reserving them. */
const exact = 1_000;
/** Before those, a process reserves at most this fraction of the remaining requests. */
const ahead = 1 / 16;
const second_ms = 1_000;

/** A bucket that several processes share. */
interface CommonBucket {
  /** The count of all processes, including reserved requests. */
  requests: number;
  /** Requests that this process has reserved and not used yet. */
  left: number;
  /** Requests of this process since `since`. */
  recent: number;
  since: number;
  counting?: Promise<void> | undefined;
}
export interface Saved {
  readonly started_at: number;
  readonly buckets: readonly (readonly [string, Bucket])[];
}

export type RateLimits = ReturnType<typeof createRateLimits>;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly dirty: () => void;
  /** Set if several processes count in the same rows. */
  readonly counters?: Connection | undefined;
}

/**
 * Fixed windows of ten minutes. A single process counts in memory, and `flush` writes the counts once a second, because
 * a commit per request would cost too much. A crash loses at most the last second. `dirty` is called when there is
 * something to write. Several processes count in the same row, and do not wait for the disk. Each reserves as many
 * requests as it had in the last second, and gives back the unused ones every second. The last thousand of a window are
 * counted one by one, so the limit is exact. (With a statement for each request, a GET takes a quarter more time.)
 */
export function createRateLimits({ store, clock, dirty, counters }: Ports) {
  const rows = store.using(httpRepository);
  const together = counters && store.on(counters, httpRepository);
  const buckets = new Map<string, Bucket>();
  const common = new Map<string, CommonBucket>();
  /** When the current window started. */
  let current = 0;

  const startOfWindow = (): number => {
    const started_at = Math.floor(clock.now() / window_ms) * window_ms;
    if (started_at !== current) {
      buckets.clear();
      common.clear();
      current = started_at;
    }
    return started_at;
  };

  const windowOf = (requests: number, limit: number, started_at: number, allowed = requests < limit): Window => {
    const reset = started_at + window_ms;
    const retry_after = allowed ? 0 : Math.max(1, Math.ceil((reset - clock.now()) / 1000));
    const [remaining, reset_at] = [Math.max(0, limit - requests), reset / 1000];
    return { allowed, limit, remaining, reset_at, retry_after, isManual: clock.mode === "manual" };
  };

  const load = async (name: string, started_at: number) => {
    const row = await rows().window({ bucket: name });
    // The next window may have started during the read.
    if (started_at !== current) return { requests: 0, unwritten: true };
    const requests = row?.started_at === started_at ? row.requests : 0;
    const bucket = buckets.get(name) ?? { requests, unwritten: false };
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

  const countAhead = async (
    bucket: CommonBucket,
    name: string,
    limit: number,
    started_at: number,
    requests: number,
  ) => {
    const counted = await together?.count({ bucket: name, started_at, requests, most: limit - exact - requests });
    // Other processes have reserved the rest: from now on, count one by one.
    bucket.requests = Math.max(bucket.requests, counted?.requests ?? limit - exact);
    if (!counted) return;
    bucket.left += requests;
    dirty();
  };

  const commonOf = (name: string): CommonBucket => {
    const bucket = common.get(name) ?? { requests: 0, left: 0, recent: 0, since: clock.now() };
    common.set(name, bucket);
    if (clock.now() >= bucket.since + second_ms) Object.assign(bucket, { recent: 0, since: clock.now() });
    bucket.recent += 1;
    return bucket;
  };

  /** Counts in the row of all processes. If the window is used up, this needs no statement. */
  const countTogether = async (bucket: CommonBucket, name: string, limit: number, started_at: number) => {
    while (bucket.left === 0) {
      if (bucket.requests >= limit) return windowOf(bucket.requests, limit, started_at);
      const most = Math.min(bucket.recent, Math.floor((limit - exact - bucket.requests) * ahead));
      if (most <= 1) {
        const counted = await together?.count({ bucket: name, started_at, requests: 1, most: limit - 1 });
        const requests = counted?.requests ?? limit;
        bucket.requests = Math.max(bucket.requests, requests);
        return windowOf(requests, limit, started_at, counted !== undefined);
      }
      bucket.counting ??= countAhead(bucket, name, limit, started_at, most).finally(() => {
        bucket.counting = undefined;
      });
      await bucket.counting;
    }
    return useCounted(bucket, limit, started_at);
  };

  const useCounted = (bucket: CommonBucket, limit: number, started_at: number): Window => {
    bucket.left -= 1;
    return windowOf(bucket.requests - bucket.left, limit, started_at, true);
  };

  return {
    /** Counts a request if the limit allows it. A promise if it has to ask the store. */
    take(wanted: string, limit: number, whenFull: WhenFull = "counted together"): Window | Promise<Window> {
      const started_at = startOfWindow();
      const known = together ? common : buckets;
      if (limit === 0) return windowOf(0, unlimited, started_at);
      const hasPlace = known.has(wanted) || known.size < maxBuckets || wanted.startsWith("key_");
      if (!hasPlace && whenFull === "not counted") return windowOf(0, limit, started_at);
      const name = hasPlace ? wanted : "address *";
      if (together) {
        const bucket = commonOf(name);
        return bucket.left > 0 ? useCounted(bucket, limit, started_at) : countTogether(bucket, name, limit, started_at);
      }
      const bucket = buckets.get(name);
      if (bucket) return count(bucket, limit, started_at);
      return load(name, started_at).then((loaded) => count(loaded, limit, started_at));
    },

    /** The window as this process knows it. Counts nothing and reads nothing from the store. */
    look(name: string, limit: number): Window {
      const started_at = startOfWindow();
      const { requests, left = 0 }: Partial<CommonBucket> = common.get(name) ?? buckets.get(name) ?? {};
      return windowOf((requests ?? 0) - left, limit || unlimited, started_at);
    },

    async flush(tx: Tx) {
      for (const [bucket, state] of common) {
        const { left: requests } = state;
        if (requests === 0) continue;
        state.left = 0;
        state.requests -= requests;
        await together?.giveBack({ bucket, started_at: current, requests });
      }
      for (const [bucket, state] of buckets) {
        if (!state.unwritten) continue;
        const { requests } = state;
        tx.afterCommit(() => {
          state.unwritten = state.requests !== requests;
          if (state.unwritten) dirty();
        });
        await rows(tx).saveWindow({ bucket, started_at: current, requests });
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
