import { systemTimer } from "../../kernel/clock.ts";
import { AbortController } from "../../kernel/node/web.ts";

/** The wait before an app, a worker or a release is started again, by the number of failures in a row. */
export const backoff_ms = (failures: number): number => Math.min(250 * 2 ** failures, 30_000);
/** A program that ran this long had started successfully, so its back-off begins anew. */
export const stable_ms = 60_000;

/** Calls `run` when the signal aborts, or now if it has. Returns the function that stops listening. */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) run();
  else signal.addEventListener("abort", run);
  return () => signal.removeEventListener("abort", run);
}

/** Waits for a time, or until the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  let [cancel, stopListening] = [() => {}, () => {}];
  await new Promise<void>((resolve) => {
    cancel = systemTimer(ms, resolve);
    if (signal) stopListening = onAbort(signal, resolve);
  });
  cancel();
  // One signal may outlive many pauses.
  stopListening();
}

/** Calls `look` again and again, each time after a pause, until the returned function is called. */
export function repeat(pause_ms: number, look: () => unknown): () => void {
  const ending = new AbortController();
  const run = async () => {
    for (;;) {
      await pause(pause_ms, ending.signal);
      if (ending.signal.aborted) return;
      await look();
    }
  };
  void run();
  return () => ending.abort();
}

/** Holds requests while an app starts, up to their time limit. */
export function createArrival() {
  let arrived: boolean | undefined;
  // Requests that give up are removed, because an app may be down for days.
  const waiting = new Set<(up: boolean) => void>();
  const wait = (within_ms: number) =>
    new Promise<boolean>((resolve) => {
      const tell = (up: boolean) => {
        cancel();
        waiting.delete(tell);
        resolve(up);
      };
      const cancel = systemTimer(within_ms, () => tell(false));
      waiting.add(tell);
    });
  return {
    up: async (within_ms: number) => arrived ?? wait(within_ms),
    arrive(up: boolean): void {
      arrived ??= up;
      for (const tell of waiting) tell(arrived);
    },
  };
}
