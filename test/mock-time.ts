import type { TestContext } from "node:test";
import { replaceSystemTime } from "../lib/kernel/system.ts";

/** Mocks the time of the machine for the service too, which has taken its timers when it was imported. */
export function mockTime(t: TestContext, options: { apis: ("setTimeout" | "Date")[]; now?: number }): void {
  const current = () => ({ setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now });
  const before = current();
  t.mock.timers.enable(options);
  replaceSystemTime(current());
  t.after(() => replaceSystemTime(before));
}
