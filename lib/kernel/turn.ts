/** Lets the event loop go round: timers, commits and what has arrived have their turn. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * For calls that may be awaited one after the other without ever leaving this turn, as in `while (!done) await call()`:
 * every 64th waits for the next one, or nothing else would ever happen.
 */
export function createPacing(): () => Promise<void> | undefined {
  let calls = 0;
  return () => {
    calls += 1;
    return calls % 64 === 0 ? turn() : undefined;
  };
}
