import * as v from "valibot";
import { option } from "./option-types.ts";

/** The fake timers of a test runner: `vi` of Vitest, `jest` of Jest, `mock.timers` of node:test. */
export type FakeTimers = { advanceTimersByTimeAsync(ms: number): Promise<unknown> } | { tick(ms: number): unknown };

const canMove = (given: unknown): given is FakeTimers => {
  const { tick, advanceTimersByTimeAsync } = Object(given) as Record<string, unknown>;
  return typeof tick === "function" || typeof advanceTimersByTimeAsync === "function";
};

export const timers = option(
  v.custom<FakeTimers>(
    canMove,
    "must be what moves the fake timers: vi of Vitest, jest of Jest, or t.mock.timers of node:test",
  ),
  {
    help: "The fake timers of a test runner: `vi`, `jest` or `t.mock.timers`. They move with the manual clock of the service, in one order of events (`dev`). Without it, the test moves the two by itself.",
    example: "vi",
  },
);
