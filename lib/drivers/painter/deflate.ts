import { zlib } from "../../kernel/lazy-node-modules.ts";

/**
 * Whether a painting thread may be terminated, in memory that it shares with its painter. If Node terminates a thread
 * just as it creates a zlib stream, it aborts the whole process ("Assertion failed: init_done_ && close before init";
 * seen with 20.20).
 */
export type StopGuard = Int32Array;
const [free, compressing, stopping] = [0, 1, 2];

export const createStopGuard = (): StopGuard => new Int32Array(new SharedArrayBuffer(4));

/** Stops the thread before its next compression. Returns false while it compresses: then it must not be terminated. */
export const holdForStop = (guard: StopGuard): boolean =>
  Atomics.compareExchange(guard, 0, free, stopping) !== compressing;

/** The guard of this thread, which paints one order at a time. */
let ownGuard = createStopGuard();
export function useStopGuard(guard: StopGuard): void {
  ownGuard = guard;
}

export function deflate(data: Uint8Array, level: number): Uint8Array {
  // Sleeps until the thread is terminated.
  if (Atomics.compareExchange(ownGuard, 0, free, compressing) === stopping) Atomics.wait(ownGuard, 0, stopping);
  try {
    return zlib().deflateSync(data, { level });
  } finally {
    Atomics.store(ownGuard, 0, free);
  }
}
