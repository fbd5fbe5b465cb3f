import { milliseconds } from "../../kernel/text/duration.ts";

/** The delays after each failed attempt (schema/webhooks.md#retries). */
const delays = ["30s", "2m", "10m", "30m", "2h"].map(milliseconds);
const longest = Math.max(...delays);

export const maxAttempts = delays.length + 1;

/**
 * Milliseconds to wait after this failed attempt, counted from 1; undefined after the last attempt, when the delivery
 * is abandoned. `jitter` is the random share that is added, so that endpoints that failed together do not retry
 * together. `Retry-After` can only lengthen the delay, and at most to the longest in the schedule.
 */
export function retryDelay(attempt: number, jitter: number, retry_after_ms = 0): number | undefined {
  const delay = delays[attempt - 1];
  return delay === undefined
    ? undefined
    : Math.max(Math.round(delay * (1 + jitter)), Math.min(retry_after_ms, longest));
}
