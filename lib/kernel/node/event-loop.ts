import { setImmediate } from "./system.ts";

/** Resolves after the pending I/O has had its turn. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** For functions that may be called in a loop, such as `while (!done) await call()`: every 64th call yields. */
export function createYieldEvery64(): () => Promise<void> | undefined {
  let calls = 0;
  return () => {
    calls += 1;
    return calls % 64 === 0 ? yieldToEventLoop() : undefined;
  };
}

/** The connections that were accepted in this tick or the last one. */
let arriving = 0;
const hasArrived = () => {
  arriving -= 1;
};

/** Notes that a server has accepted a connection whose requests may write. */
export function noteArrival(): void {
  arriving += 1;
  setImmediate(() => setImmediate(hasArrived));
}

/**
 * Runs a callback for a queue at the end of this tick. While connections arrive and the queue `length` changes, it
 * waits: three more ticks after each change, and 32 at most. Node accepts one connection a tick: with a commit in each
 * tick, 32 clients that connect for every POST get 1,500 answers a second instead of 3,700.
 */
export function afterArrivals(run: () => void, length: () => number): void {
  let [known, unchanged, ticks] = [length(), 0, 0];
  const look = () => {
    unchanged = length() === known ? unchanged + 1 : 0;
    known = length();
    ticks += 1;
    if (arriving === 0 || unchanged > 3 || ticks > 32) run();
    else setImmediate(look);
  };
  setImmediate(look);
}

/** The first callback of a tick runs at once, the later ones together at its end, with their errors to `onError`. */
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

export type Turns = (run: () => void) => void;

/** `perTurn` callbacks of a tick run at once, others in later ticks. None of them may ask for a turn itself. */
export function createTurns(onError: (error: unknown) => void, perTurn = 16): Turns {
  const waiting: (() => void)[] = [];
  let ran = 0;
  const next = () => {
    const turn = waiting.splice(0, perTurn);
    ran = turn.length;
    if (ran > 0) setImmediate(next);
    for (const run of turn) {
      try {
        run();
      } catch (error) {
        onError(error);
      }
    }
  };
  return (run) => {
    if (ran === perTurn || waiting.length > 0) {
      waiting.push(run);
      return;
    }
    if (ran === 0) setImmediate(next);
    ran += 1;
    run();
  };
}

/** Runs work of the same name one after the other. Thousands may wait, so each of them begins in its own tick. */
export function createLines() {
  const lines = new Map<string, Promise<void>>();
  return <T>(name: string, run: () => Promise<T>): Promise<T> => {
    const before = lines.get(name);
    const done = before !== undefined ? before.then(yieldToEventLoop).then(run) : run();
    const leave = () => {
      if (lines.get(name) === line) lines.delete(name);
    };
    const line = done.then(leave, leave);
    lines.set(name, line);
    return done;
  };
}
