import { yieldToEventLoop } from "./node/event-loop.ts";

/** A timer that the code under test has set, and that has not run yet. */
export interface WatchedTimer {
  /** When it is due, on the clock of the service. */
  at: number;
  /** Such as `setInterval(poll, 1000)`. */
  readonly words: string;
  /** Where the code set it. Node makes the text only when it is read. */
  readonly trace: { readonly stack?: string };
  /** For an interval: the time between two runs. */
  readonly again_ms: number | undefined;
  /** Whether the runner has moved beyond it once without running it. */
  isLate: boolean;
}

export type TimerList = ReturnType<typeof createTimerList>;

/** The waiting timers, by the values that clear them. `hold` defers due timers, and `runHeld` runs them. */
export function createTimerList(now: () => number) {
  const timers = new Map<unknown, WatchedTimer>();
  let held: { readonly key: unknown; readonly run: () => unknown }[] = [];
  let isHolding = false;
  /** The due time of the next timer; undefined if it must be computed. */
  let soonest: number | undefined;

  const remove = (key: unknown) => {
    timers.delete(key);
    soonest = undefined;
  };
  const met = (key: unknown) => {
    const timer = timers.get(key);
    if (timer?.again_ms === undefined) return remove(key);
    timer.at = now() + timer.again_ms;
    timer.isLate = false;
    soonest = undefined;
  };
  /** Some runners run a timer set for this instant a millisecond later. Others drop it. */
  const postpone = () => {
    for (const [key, timer] of timers) {
      if (timer.at > now()) continue;
      if (timer.isLate) timers.delete(key);
      timer.isLate = true;
      timer.at = now() + 1;
    }
    soonest = undefined;
  };

  return {
    add(key: unknown, { wait_ms, ...timer }: Omit<WatchedTimer, "at" | "isLate"> & { readonly wait_ms: number }) {
      const at = now() + wait_ms;
      if (soonest !== undefined && at < soonest) soonest = at;
      timers.set(key, { at, ...timer, isLate: false });
    },
    remove,
    /** Runs a timer that the runner has found due, now or with `runHeld`. */
    due(key: unknown, run: () => unknown): unknown {
      if (isHolding) return held.push({ key, run });
      met(key);
      return run();
    },
    /** When the next timer is due; undefined if none waits. */
    next() {
      soonest ??= [...timers.values()].reduce((at, timer) => Math.min(at, timer.at), Number.POSITIVE_INFINITY);
      return timers.size === 0 ? undefined : soonest;
    },
    /** Soonest first. */
    waiting: () => [...timers.values()].sort((a, b) => a.at - b.at),
    /** Moves the runner's clock, and defers the timers that it finds due. */
    async hold(move: () => unknown) {
      isHolding = true;
      try {
        await move();
        // Lets the promises of timers resolve.
        await yieldToEventLoop();
      } finally {
        isHolding = false;
      }
    },
    /** Runs the deferred timers that were not cleared since, one per tick. */
    async runHeld() {
      if (held.length === 0) postpone();
      // If one throws, the others run at the next move.
      for (let next = held.shift(); next; next = held.shift()) {
        const { key, run } = next;
        if (!timers.has(key)) continue;
        met(key);
        run();
        await yieldToEventLoop();
      }
    },
    clear() {
      timers.clear();
      held = [];
    },
  };
}
