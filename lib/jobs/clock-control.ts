import { type Clock, isoOf, latestInstant } from "../kernel/clock.ts";
import { invalid, Problem } from "../kernel/errors.ts";
import { formatDuration } from "../kernel/text/duration.ts";
import type { Loop } from "./loop.ts";
import type { Company } from "./move.ts";
import type { Upcoming } from "./upcoming.ts";

/** The result of moving the clock: the time that it now shows, and how many jobs ran. */
export interface Advanced {
  readonly now: string;
  readonly ran: number;
}

export type ClockControl = ReturnType<typeof createClockControl>;

interface Ports {
  readonly clock: Clock;
  readonly loop: Loop;
  readonly sink: () => string | undefined;
  readonly moved: () => void;
  readonly upcoming: () => Promise<readonly Upcoming[]>;
  readonly company: Pick<Company, "timers">;
}

/** Moves need a manual clock. Within a sink, moves, `settle` and `goOn` reject: they would wait for its delivery. */
export function createClockControl({ clock, loop, sink, moved, upcoming, company }: Ports) {
  const advanced = (ran: number): Advanced => {
    moved();
    return { now: clock.iso(), ran };
  };
  const requireOutsideSink = () => {
    const name = sink();
    if (name === undefined) return;
    const right = "do that once the call that delivers to it has resolved";
    throw invalid("clock", `cannot be moved or settled within the sink "${name}"; ${right}`);
  };
  const requireManual = (path: string) => {
    requireOutsideSink();
    if (clock.mode !== "manual")
      throw new Problem(
        "validation_failed",
        'only a manual clock can be moved, and this one runs by itself: start with --clock manual, or in the library with clock: "manual" or clock.freeze()',
        { details: [{ path, message: "needs a manual clock" }] },
      );
  };
  const advance = async (path: "by" | "to", target: (now: number) => number): Promise<Advanced> => {
    requireManual(path);
    const ran = await loop.advance((now) => {
      requireManual(path);
      const at = target(now);
      if (at < now) throw invalid(path, `must not be before ${isoOf(now)}: the clock never goes back`);
      if (!(at <= latestInstant)) throw invalid(path, `must not be after ${isoOf(latestInstant)}`);
      return at;
    });
    return advanced(ran);
  };
  /** The work that waits for a later time, in words. */
  const stillDue = async (): Promise<string> => {
    const jobs = (await upcoming()).map(({ at, kind, id }) => `${kind}${id === null ? "" : ` ${id}`} at ${at}`);
    const timers = company.timers();
    const due = [...(timers?.waiting() ?? []), ...jobs];
    const more = due.length > 5 ? `, and ${due.length - 5} more` : "";
    if (due.length > 0) return `still due: ${due.slice(0, 5).join("; ")}${more}`;
    const hint = timers ? "" : ", or for timers of the code, which the option timers couples with this clock";
    return `nothing is due any more: does it wait for the network (give the code service.fetch instead)${hint}?`;
  };
  return {
    /** Moves the clock until the promise has settled, by `most` milliseconds at most, and returns its result. */
    async advanceUntil<T>(promise: PromiseLike<T>, { step, most }: { step: number; most: number }): Promise<T> {
      requireManual("clock");
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      // Calls `then` of the argument only once: a thenable such as a query runs at each call.
      const settled = Promise.resolve(promise);
      settled.then(end, end);
      const target = (now: number) => {
        requireManual("clock");
        return Math.min(now + most, latestInstant);
      };
      await loop.advance(target, { isOver: () => isOver, step });
      moved();
      if (isOver) return settled;
      throw new Error(
        `advanceUntil: the promise has not settled by ${clock.iso()}, after ${formatDuration(most)}; ${await stillDue()}`,
      );
    },
    advanceBy: (ms: number) => advance("by", (now) => now + ms),
    advanceTo: (at: number) => advance("to", () => at),
    async advanceToNext() {
      requireManual("clock");
      return advanced(await loop.advanceToNext(() => requireManual("clock")));
    },
    async runUntilIdle() {
      requireManual("clock");
      return advanced(await loop.runUntilIdle(() => requireManual("clock")));
    },
    /** Runs all due work, under any clock. */
    async settle() {
      requireOutsideSink();
      return advanced(await loop.settle());
    },
    /** Turns a running clock into a manual one. */
    freeze() {
      clock.freeze();
      moved();
    },
    /** Lets a frozen clock run on as before. */
    async goOn() {
      if (!clock.isFrozen)
        throw invalid("clock", "does not stand because of a freeze: start with another --clock to let it run");
      requireOutsideSink();
      await loop.goOn();
      moved();
    },
  };
}
