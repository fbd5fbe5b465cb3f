import { performance } from "node:perf_hooks";
import * as timers from "node:timers";

/*
 * Captured at import: fake timers of test runners replace the globals later, and a service waiting for those would never
 * answer. jsdom has no global `setImmediate`, and its `setTimeout` returns a number.
 */
export const { setImmediate } = timers;
export let { setTimeout, clearTimeout } = timers;

let { now } = Date;
/** Milliseconds since 1970, by the machine. */
export const systemNow = (): number => now();

let monotonic = performance.now.bind(performance);
/** Milliseconds since the process began. Setting the machine's clock does not change them. */
export const monotonicNow = (): number => monotonic();

/** Replaces these functions, for this package's own tests, which mock the machine's time. */
export function replaceSystemTime(
  given: Pick<typeof globalThis, "setTimeout" | "clearTimeout"> & { now(): number; monotonic(): number },
): void {
  ({ setTimeout, clearTimeout, now, monotonic } = given as typeof given & typeof timers);
}
