import * as v from "valibot";
import type { Advanced, ClockControl } from "../jobs/clock-control.ts";
import type { Upcoming } from "../jobs/upcoming.ts";
import { latestInstant, parseInstant } from "../kernel/clock.ts";
import { type Duration, durationOf, formatDuration } from "../kernel/text/duration.ts";
import { checkArgument, record, refuseArgumentsButContext } from "../kernel/validation.ts";
import type { createAwaitedCalls } from "./awaited-calls.ts";

/** The clock of a service. */
export interface ClockTools {
  readonly now: () => Date;
  /**
   * Moves a manual clock by a duration such as `"2h"`, or by a number of milliseconds. Resolves when all work that
   * fell due has run.
   */
  readonly advance: (by: Duration) => Promise<Advanced>;
  /** Moves a manual clock to an instant. It never moves back. */
  readonly advanceTo: (at: string | Date) => Promise<Advanced>;
  /**
   * Moves a manual clock until a promise has settled, and returns its result, or rejects with its error. Time moves
   * from one due time to the next; where nothing is due, by `step` (`"1s"`, or `most` if that is shorter). After `most`
   * (`"24h"`) it rejects, and says what was still due.
   * @example await service.clock.advanceUntil(bot.run(), { most: "1h" })
   */
  readonly advanceUntil: <T>(promise: PromiseLike<T>, by?: { step?: Duration; most?: Duration }) => Promise<T>;
  /**
   * Moves a manual clock to the next due time and runs the work that is due then. Without waiting work the clock
   * stays.
   */
  readonly advanceToNext: () => Promise<Advanced>;
  /** Moves a manual clock until only periodic work, such as the daily clean-up, is waiting. */
  readonly runUntilIdle: () => Promise<Advanced>;
  /** The next hundred due jobs, except periodic ones (`dev`). */
  readonly upcoming: () => Promise<Upcoming[]>;
  /** Stops the clock, which becomes a manual one. Restoring an earlier snapshot restarts it (`dev`). */
  readonly freeze: () => void;
}

interface Ports {
  readonly calls: ReturnType<typeof createAwaitedCalls>;
  readonly now: () => number;
  readonly control: () => ClockControl;
  /** Throws in the mode `start`. */
  readonly inDev: () => { readonly clockControl: ClockControl; readonly upcoming: () => Promise<Upcoming[]> };
}

const untilOptions = record({ step: v.optional(v.unknown()), most: v.optional(v.unknown(), "24h") });

/** Parses the arguments of `advanceUntil`. Throws a TypeError for invalid ones. */
function untilOf(promise: unknown, by: unknown): { step: number; most: number } {
  if (typeof (Object(promise) as { then?: unknown }).then !== "function")
    throw new TypeError("advanceUntil takes a promise: advanceUntil(bot.run()), not a function or a value");
  const given = checkArgument(untilOptions, "by", by, '{ step: "1s", most: "24h" }');
  const most = durationOf(given.most);
  const step = given.step === undefined ? Math.min(1_000, most) : durationOf(given.step);
  if (step === 0) throw new TypeError(`${given.step === undefined ? "most" : "step"} must be longer than 0`);
  if (most < step)
    throw new TypeError(`most (${formatDuration(most)}) must not be less than step (${formatDuration(step)})`);
  return { step, most };
}

function instantOf(given: string | Date): number {
  const at = given instanceof Date ? given.getTime() : parseInstant(given);
  if (at !== undefined && !Number.isNaN(at) && at <= latestInstant) return at;
  throw new TypeError(`"${given}" is not an instant such as "2026-01-01T00:00:00Z"`);
}

export function clockTools({ calls, now, control, inDev }: Ports): ClockTools {
  const alone = (name: "advanceToNext" | "runUntilIdle", given: readonly unknown[]) =>
    calls.watch(`clock.${name}`, async () => {
      refuseArgumentsButContext(name, given, "advance takes a duration");
      return control()[name]();
    });
  return {
    now() {
      calls.check();
      return new Date(now());
    },
    advance: (by) => calls.watch("clock.advance", async () => control().advanceBy(durationOf(by))),
    advanceTo: (at) => calls.watch("clock.advanceTo", async () => control().advanceTo(instantOf(at))),
    advanceUntil: (promise, by = {}) =>
      calls.watch("clock.advanceUntil", async () => control().advanceUntil(promise, untilOf(promise, by))),
    advanceToNext: (...given: unknown[]) => alone("advanceToNext", given),
    runUntilIdle: (...given: unknown[]) => alone("runUntilIdle", given),
    freeze() {
      inDev().clockControl.freeze();
    },
    upcoming: async () => inDev().upcoming(),
  };
}
