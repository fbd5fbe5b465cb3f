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

/** Runs the first of a turn at once, and what else comes in the same turn together at its end. */
export function createGathering(): (run: () => void) => void {
  let others: (() => void)[] | undefined;
  const end = () => {
    const all = others ?? [];
    others = undefined;
    for (const run of all) run();
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
