import { deflateSync } from "node:zlib";

/**
 * Whether a painting thread may be stopped, in memory that it shares with its painter. Node ends the whole process when a
 * thread is stopped just as it makes a zlib stream ("Assertion failed: init_done_ && close before init"; seen with 20.20).
 */
export type StopGuard = Int32Array;
const [free, compressing, stopping] = [0, 1, 2];

export const createStopGuard = (): StopGuard => new Int32Array(new SharedArrayBuffer(4));

/** Keeps the thread from compressing from now on; false while it compresses, so that it must not be stopped yet. */
export const holdForStop = (guard: StopGuard): boolean =>
  Atomics.compareExchange(guard, 0, free, stopping) !== compressing;

/** This thread's own; one thread paints one order at a time. */
let own = createStopGuard();
export function useStopGuard(guard: StopGuard): void {
  own = guard;
}

/** The data in zlib's format. */
export function deflate(data: Uint8Array, level: number): Uint8Array {
  // Sleeps until the thread is stopped.
  if (Atomics.compareExchange(own, 0, free, compressing) === stopping) Atomics.wait(own, 0, stopping);
  try {
    return deflateSync(data, { level });
  } finally {
    Atomics.store(own, 0, free);
  }
}
