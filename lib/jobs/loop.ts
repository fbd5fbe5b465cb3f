import type { Clock } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { isSuspect, type Runner } from "./runner.ts";

/** How many jobs run side by side: most of them wait for a receiver that does not answer. */
const atOnce = 2_000;
const heartbeat_ms = milliseconds("20s");
/** Running until idle gives up after so many due times. */
const mostStops = 10_000;
/** No timer is longer: setTimeout fires at once beyond 24.8 days, and a clock may have been set meanwhile. */
const longest_ms = milliseconds("60s");

/**
 * Sleeps until the next due row, and is nudged by whoever adds one; nothing waits for a polling interval. Under a
 * standing clock it never runs by itself: `advanceTo` and `settle` do all the work.
 */
export interface Loop {
  /** `takeUp` says what becomes of the jobs that ran when the rows were last written. */
  start(takeUp: "after a crash" | "after a pause"): Promise<void>;
  wake(at: number): void;
  /** Runs all that is due now, and what that makes due; answers how many jobs ran. */
  settle(): Promise<number>;
  /** Moves a standing clock, stopping at every due time on the way, in order. `aim` tells where to, once it is its turn. */
  advance(aim: (now: number) => number): Promise<number>;
  /** Moves a standing clock to the next due time of work that ends, and runs it; nowhere where none waits. */
  advanceToNext(): Promise<number>;
  /** Goes on like this until no work that ends waits any more. */
  runUntilIdle(): Promise<number>;
  /** Hands back what still runs when the process goes, for the next start: an orderly end is no crash. */
  release(): Promise<void>;
  stop(): Promise<void>;
  /** How many jobs are being run by hand, under a standing clock: others run by themselves. */
  runningByHand(): number;
}

export function createLoop({
  clock,
  runner,
  log,
  storeClock,
}: {
  clock: Clock;
  runner: Runner;
  log: Log;
  storeClock: (at: number) => Promise<void>;
}): Loop {
  let timer: NodeJS.Timeout | undefined;
  let armedFor = Number.POSITIVE_INFINITY;
  let beat: NodeJS.Timeout | undefined;
  let pumping: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let suspected = false;
  /** Run by `drain`, one after the other. */
  let draining = 0;
  const running = new Set<Promise<void>>();
  let turn: Promise<unknown> = Promise.resolve();
  /** What is still to be taken up: under a standing clock nothing runs before it is moved, and not every fork's is. */
  let left: (() => Promise<void>) | undefined;

  /** One after the other: two that advance at once would run the same instant twice. */
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(async () => {
      await left?.();
      left = undefined;
      return work();
    });
    turn = result.catch(() => {});
    return result;
  };

  const drain = async (): Promise<number> => {
    let ran = 0;
    // What a clock that was frozen since has begun.
    await pumping;
    await Promise.all(running);
    for (;;) {
      const rows = stopped ? [] : await runner.claim(true);
      if (rows.length === 0) return ran;
      for (const row of rows) {
        draining += 1;
        await runner.run(row).finally(() => {
          draining -= 1;
        });
      }
      ran += rows.length;
    }
  };

  const nextWork = () => runner.next("work that ends");

  const move = async (target: number): Promise<number> => {
    if (target < clock.now()) clock.moveTo(target);
    // Kept before anything runs: a crash on the way must not let the clock go back.
    await storeClock(target);
    let ran = 0;
    for (;;) {
      const at = await runner.next();
      if (stopped || at === undefined || at > target) break;
      if (at > clock.now()) clock.moveTo(at);
      ran += await drain();
    }
    clock.moveTo(Math.max(target, clock.now()));
    return ran;
  };

  const arm = (at: number) => {
    if (stopped || clock.mode === "manual" || at >= armedFor) return;
    clearTimeout(timer);
    armedFor = at;
    // Forgotten before it pumps: a pump that is under way already must not leave a time behind that has passed.
    const ring = () => {
      armedFor = Number.POSITIVE_INFINITY;
      pump();
    };
    timer = setTimeout(ring, Math.min(clock.until(at) ?? 0, longest_ms));
    timer.unref();
  };

  /** Renews leases for as long as jobs run; where none does, nothing wakes the process. */
  const beatOn = () => {
    beat = setTimeout(() => {
      beat = undefined;
      if (running.size === 0) return;
      beatOn();
      runner.keepAlive().catch((error) =>
        log.error("leases could not be renewed", {
          reason: reasonOf(error),
        }),
      );
    }, heartbeat_ms);
    beat.unref();
  };

  const begin = (row: Parameters<Runner["run"]>[0]) => {
    if (!beat) beatOn();
    suspected = isSuspect(row);
    const run: Promise<void> = runner.run(row).finally(() => {
      running.delete(run);
      suspected = false;
      // There may be more than one claim takes, and this made room.
      pump();
    });
    running.add(run);
  };

  const pumpOnce = async () => {
    clearTimeout(timer);
    armedFor = Number.POSITIVE_INFINITY;
    do {
      again = false;
      // A suspect has the process for itself; its end brings the loop back here.
      while (!stopped && !suspected && running.size < atOnce) {
        const rows = await runner.claim(running.size === 0);
        if (rows.length === 0) break;
        for (const row of rows) begin(row);
      }
    } while (again && !stopped);
    const next = await runner.next();
    // What is due and was not claimed waits for room, which the end of another makes.
    if (next !== undefined && (next > clock.now() || running.size === 0)) arm(Math.max(next, clock.now() + 5));
  };

  const pump = () => {
    if (stopped || clock.mode === "manual") return;
    if (pumping !== undefined) {
      again = true;
      return;
    }
    pumping = pumpOnce()
      .catch((error) => {
        log.error("the job loop stumbled and tries again in a second", {
          reason: reasonOf(error),
        });
        armedFor = Number.POSITIVE_INFINITY;
        arm(clock.now() + 1_000);
      })
      .finally(() => {
        pumping = undefined;
        if (again) pump();
      });
  };

  return {
    async start(takeUp) {
      if (takeUp === "after a crash") await runner.reclaim();
      else left = runner.release;
      if (clock.mode === "manual") return;
      await left?.();
      left = undefined;
      pump();
    },
    wake(at) {
      if (at <= clock.now()) pump();
      else arm(at);
    },
    settle: () =>
      alone(async () => {
        if (clock.mode === "manual") return drain();
        let ran = 0;
        for (;;) {
          await Promise.all(running);
          const rows = suspected || stopped ? [] : await runner.claim(running.size === 0);
          if (rows.length === 0 && running.size === 0) return ran;
          for (const row of rows) begin(row);
          ran += rows.length;
        }
      }),
    advance: (aim) =>
      alone(async () => {
        // Throws for a clock that runs by itself, before anything is kept or run.
        clock.moveTo(clock.now());
        return move(aim(clock.now()));
      }),
    advanceToNext: () =>
      alone(async () => {
        const at = await nextWork();
        return at === undefined ? 0 : move(Math.max(at, clock.now()));
      }),
    runUntilIdle: () =>
      alone(async () => {
        let ran = await drain();
        let stops = 0;
        for (let at = await nextWork(); at !== undefined && !stopped; at = await nextWork()) {
          if (stops++ === mostStops)
            throw new Error(
              `after ${mostStops} due times, at ${clock.iso()}, work still waits: does some of it never end?`,
            );
          ran += await move(Math.max(at, clock.now()));
        }
        return ran;
      }),
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await pumping;
      await Promise.all(running);
      await turn;
      clearTimeout(beat);
    },
    runningByHand: () => draining,
    release: () => runner.release(),
  };
}
