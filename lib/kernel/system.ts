import { performance } from "node:perf_hooks";
import * as timers from "node:timers";

/*
 * The time of the machine, taken at import. Fake timers of a test runner (`vi.useFakeTimers()`, `jest.useFakeTimers()`,
 * `t.mock.timers.enable()`) replace the globals later, and a service that waited for those would never answer. They come
 * from modules of Node, because jsdom has no global `setImmediate`, and its `setTimeout` answers a number.
 */
export const { setImmediate } = timers;
export let { setTimeout, clearTimeout } = timers;

let { now } = Date;
/** Milliseconds since 1970, by the machine. */
export const systemNow = (): number => now();

/** Monotonic milliseconds of the machine, for measuring how long something took. No behaviour may depend on it. */
export const monotonicNow: () => number = performance.now.bind(performance);

/** Puts others in their place, for the tests of this package, which mock the time of the machine itself. */
export function replaceSystemTime(
  given: Pick<typeof globalThis, "setTimeout" | "clearTimeout"> & { now(): number },
): void {
  ({ setTimeout, clearTimeout, now } = given as typeof given & typeof timers);
}
