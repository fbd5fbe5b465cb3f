import type { FakeTimers } from "../config/options/timers.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import { createTimerList, type WatchedTimer } from "../kernel/timer-list.ts";
import { runsTimers, timersInForce, watchTimers } from "../kernel/timer-watch.ts";

/** The timers of the code under test. They move with the clock of the service. */
export interface CodeTimers {
  next(): number | undefined;
  /** Shows the clock's time to the code, without running the timers that are due. */
  show(): Promise<void>;
  /** Runs the timers that are due, in the order in which they were set. */
  run(): Promise<void>;
  /** The timers that wait, in words, soonest first. */
  waiting(): readonly string[];
  release(): void;
}

interface Mover {
  tick?(ms: number): unknown;
  advanceTimersByTime?(ms: number): unknown;
  advanceTimersByTimeAsync?(ms: number): unknown;
  setTime?(at: number): unknown;
  setSystemTime?(at: number): unknown;
}

const install = "vi.useFakeTimers(), jest.useFakeTimers() or t.mock.timers.enable()";

/** Rejects unless `move` runs the timers that the code sets. */
async function requireFake(move: (ms: number) => unknown): Promise<void> {
  const { areFake, areWatched } = timersInForce();
  if (areWatched)
    throw new Error(
      "these timers move with another service already: close that service first, or pass timers to only one of the two",
    );
  if (!areFake)
    throw new Error(
      `the timers are real: call ${install}, with setTimeout among the apis, before the service is created with timers`,
    );
  if (await runsTimers(move)) return;
  throw new Error(
    `the timers that are installed are not those that were passed: pass the object of this runner, after ${install}`,
  );
}

const placeOf = ({ trace }: WatchedTimer): string => {
  const line = trace.stack?.split("\n").find((one) => / at /.test(one) && !/node_modules|node:internal/.test(one));
  return line ? ` set ${line.trim()}` : "";
};

/** Couples the fake timers of a test runner with the clock of a service. */
export async function coupleTimers(given: FakeTimers, clock: () => Clock): Promise<CodeTimers> {
  const timers = given as Mover;
  // The synchronous functions first: the other one waits a millisecond of the machine's time at each step.
  const step = timers.tick ?? timers.advanceTimersByTime ?? timers.advanceTimersByTimeAsync;
  const move = (ms: number) => step?.call(timers, ms);
  await requireFake(move);
  const now = () => clock().now();
  const setDate = () => {
    if (timersInForce().isDateFake) (timers.setSystemTime ?? timers.setTime)?.call(timers, now());
  };
  setDate();
  const list = createTimerList(now);
  const release = watchTimers(list);
  let shown = now();

  const show = async () => {
    if (!timersInForce().areWatched)
      throw new Error(
        "the timers that move with this service were made real again; do that only once the service is closed",
      );
    const at = now();
    // A restored snapshot has set the clock back.
    if (at < shown) setDate();
    else if (at > shown || (list.next() ?? Number.POSITIVE_INFINITY) <= at) await list.hold(() => move(at - shown));
    shown = at;
  };
  return {
    next: list.next,
    show,
    async run() {
      await show();
      await list.runHeld();
    },
    waiting: () => list.waiting().map((timer) => `${timer.words} of the code at ${isoOf(timer.at)}${placeOf(timer)}`),
    release,
  };
}
