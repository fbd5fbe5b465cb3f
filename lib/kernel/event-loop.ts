/** Lets the event loop go round: timers, commits and what has arrived have their turn. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * For calls that may be awaited one after the other without ever leaving this turn, as in `while (!done) await call()`:
 * every 64th waits for the next one, or nothing else would ever happen.
 */
export function createYieldEvery64(): () => Promise<void> | undefined {
  let calls = 0;
  return () => {
    calls += 1;
    return calls % 64 === 0 ? yieldToEventLoop() : undefined;
  };
}

/**
 * Runs the first of a turn at once, and what else comes in the same turn together at its end. `failed` is told what those
 * throw, which keeps none of the others from its turn; what the first throws is its caller's.
 */
export function createBatchPerTick(failed: (error: unknown) => void): (run: () => void) => void {
  let others: (() => void)[] | undefined;
  const end = () => {
    const all = others ?? [];
    others = undefined;
    for (const run of all) {
      try {
        run();
      } catch (error) {
        failed(error);
      }
    }
  };
  return (run) => {
    if (others) {
      others.push(run);
      return;
    }
    others = [];
    setImmediate(end);
    run();
  };
}
