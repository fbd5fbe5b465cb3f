import { systemTimer } from "../../kernel/clock.ts";

/** The wait before an app, a worker or a release is started again, by the number of failures in a row. */
export const backoff_ms = (failures: number): number => Math.min(250 * 2 ** failures, 30_000);
/** A program that ended after this long had started successfully: its next back-off is the first one. */
export const stable_ms = 60_000;

/**
 * Waits for a time, or until the signal aborts. It removes its listener, because one signal may outlive many pauses.
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = systemTimer(ms, end);
    signal?.addEventListener("abort", end);
  });
}
