import { systemTimer } from "../../kernel/clock.ts";

/** Waits so long, or until the signal is aborted. Leaves no listener at a signal that outlives many pauses. */
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
