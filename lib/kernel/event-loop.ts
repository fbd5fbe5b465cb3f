import { setImmediate } from "./system.ts";

/** Resolves in the next tick, after pending timers, commits and I/O. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * For functions that resolve within one tick and may be called in a loop, such as `while (!done) await call()`. Every
 * 64th call yields; otherwise the loop would block all other work.
 */
export function createYieldEvery64(): () => Promise<void> | undefined {
  let calls = 0;
  return () => {
    calls += 1;
    return calls % 64 === 0 ? yieldToEventLoop() : undefined;
  };
}

/**
 * Runs the first callback of a tick at once, and the later ones together at the end of that tick. The first one's error
 * is thrown to its caller. Errors of the others go to `onError`, and the remaining callbacks still run.
 */
export function createBatchPerTick(onError: (error: unknown) => void): (run: () => void) => void {
  let batch: (() => void)[] | undefined;
  const runBatch = () => {
    const callbacks = batch ?? [];
    batch = undefined;
    for (const run of callbacks) {
      try {
        run();
      } catch (error) {
        onError(error);
      }
    }
  };
  return (run) => {
    if (batch) {
      batch.push(run);
      return;
    }
    batch = [];
    setImmediate(runBatch);
    run();
  };
}
