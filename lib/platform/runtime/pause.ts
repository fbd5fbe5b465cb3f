import { systemTimer } from "../../kernel/clock.ts";

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
