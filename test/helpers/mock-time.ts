import type { TestContext } from "node:test";
import { replaceSystemTime } from "../../lib/kernel/node/system.ts";

/** Mocks the machine's time, also for the service, which took its timers when it was imported. */
export function mockTime(t: TestContext, options: { apis: ("setTimeout" | "Date")[]; now?: number }): void {
  const current = () => ({ setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now });
  const before = { ...current(), monotonic: performance.now.bind(performance) };
  t.mock.timers.enable(options);
  // On a mocked machine, the wall clock and the monotonic clock advance together.
  replaceSystemTime({ ...current(), monotonic: options.apis.includes("Date") ? Date.now : before.monotonic });
  t.after(() => replaceSystemTime(before));
}
