import { performance } from "node:perf_hooks";
import * as timers from "node:timers";

/*
 * The time of the machine, taken at import. Fake timers of a test runner (`vi.useFakeTimers()`, `jest.useFakeTimers()`,
 * `t.mock.timers.enable()`) replace the globals later, and a service that waited for those would never answer. They come
 * from modules of Node, because jsdom has no global `setImmediate`, and its `setTimeout` answers a number.
 */
export const { setTimeout, clearTimeout, setImmediate } = timers;

const { now } = Date;
/** Milliseconds since 1970, by the machine. */
export const systemNow = (): number => now();

/** Monotonic milliseconds of the machine, for measuring how long something took. No behaviour may depend on it. */
export const monotonicNow: () => number = performance.now.bind(performance);
