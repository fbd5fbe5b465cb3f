import type { Clock } from "../kernel/clock.ts";
import { isLogged } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { clearTimeout, setTimeout } from "../kernel/node/system.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import { type Company, createMover, type Until } from "./move.ts";
import { claimAll, pollJobs } from "./poll.ts";
import type { Runner } from "./runner.ts";

/** How many jobs run concurrently. Most of them wait for a slow receiver. */
const concurrency = 2_000;
const heartbeat_ms = milliseconds("20s");
/** setTimeout fires at once beyond 24.8 days, and the clock may be set while a timer runs. */
const maxTimer_ms = milliseconds("60s");

interface Ports {
  readonly clock: Clock;
  readonly runner: Runner;
  readonly log: Log;
  readonly storeClock: (at: number) => Promise<void>;
  readonly isShared?: boolean;
  readonly company?: Company;
}

export type Loop = ReturnType<typeof createLoop>;

/** Runs jobs, and sleeps until the next is due. Under a manual clock, they run only in `settle` and in moves. */
export function createLoop({ clock, runner, log, storeClock, isShared = false, company }: Ports) {
  let timer: NodeJS.Timeout | undefined;
  let armedFor = Number.POSITIVE_INFINITY;
  let heartbeat: NodeJS.Timeout | undefined;
  let stopPoll = () => {};
  let pumping: Promise<void> | undefined;
  let pumpAgain = false;
  let stopped = false;
  const running = new Set<Promise<void>>();
  let mutex: Promise<unknown> = Promise.resolve();
  /** Releases paused jobs. Deferred, because nothing runs before a manual clock moves, and few forks move theirs. */
  let releasePaused: (() => Promise<void>) | undefined;

  /** Runs `work` after all earlier calls: two concurrent calls would run the same instant twice. */
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => {
    const result = mutex.then(async () => {
      await releasePaused?.();
      releasePaused = undefined;
      return work();
    });
    mutex = result.catch(() => {});
    return result;
  };

  const mover = createMover({
    clock,
    runner,
    storeClock,
    company,
    begun: async () => {
      await pumping;
      await Promise.all(running);
    },
  });

  const arm = (at: number) => {
    if (stopped || clock.mode === "manual" || at >= armedFor) return;
    clearTimeout(timer);
    armedFor = at;
    // Reset before the pump: a pump that is already running would leave a past time here.
    const fire = () => {
      armedFor = Number.POSITIVE_INFINITY;
      pump();
    };
    timer = setTimeout(fire, Math.min(clock.until(at) ?? 0, maxTimer_ms));
    timer.unref();
  };

  /** Renews leases while jobs run. An idle loop sets no timer. */
  const scheduleHeartbeat = () => {
    heartbeat = setTimeout(() => {
      heartbeat = undefined;
      if (running.size === 0) return;
      scheduleHeartbeat();
      runner.keepAlive().catch((error) => {
        if (!isLogged(error)) log.error("leases could not be renewed", { reason: reasonOf(error) });
      });
    }, heartbeat_ms);
    heartbeat.unref();
  };

  const begin = (row: Parameters<Runner["run"]>[0]) => {
    if (!heartbeat) scheduleHeartbeat();
    const run: Promise<void> = runner.run(row).finally(() => {
      running.delete(run);
      // More jobs may be due than one claim takes, and a slot is free now.
      pump();
    });
    running.add(run);
  };

  const pumpOnce = async () => {
    clearTimeout(timer);
    armedFor = Number.POSITIVE_INFINITY;
    let claimedAt = 0;
    do {
      pumpAgain = false;
      while (!stopped && running.size < concurrency) {
        claimedAt = clock.now();
        const rows = await runner.claim();
        if (rows.length === 0) break;
        for (const row of rows) begin(row);
      }
    } while (pumpAgain && !stopped);
    const next = await runner.next();
    if (next === undefined) return;
    // If a job is due now, it became due after the claim, is locked by a transaction, or needs a free slot. Each job
    // that ends starts the next pump.
    if (next > clock.now() || running.size < concurrency)
      arm(Math.max(next, clock.now() + (next <= claimedAt ? 50 : 5)));
  };

  const pump = () => {
    if (stopped || clock.mode === "manual") return;
    if (pumping !== undefined) {
      pumpAgain = true;
      return;
    }
    pumping = pumpOnce()
      .catch((error) => {
        if (!isLogged(error)) log.error("the job loop failed and tries again in a second", { reason: reasonOf(error) });
        armedFor = Number.POSITIVE_INFINITY;
        arm(clock.now() + 1_000);
      })
      .finally(() => {
        pumping = undefined;
        if (pumpAgain) pump();
      });
  };

  return {
    /** `after a crash`, each running job counts a crash. `after a pause` none does: a snapshot was taken then. */
    async start(how: "after a crash" | "after a pause"): Promise<void> {
      if (how === "after a crash") await runner.reclaim();
      else releasePaused = runner.release;
      if (clock.mode === "manual") return;
      await exclusively(async () => pump());
      if (isShared) stopPoll = pollJobs({ runner, log, pump });
    },
    /** Lets a frozen clock run on, after the moves that wait for it. */
    goOn: () =>
      exclusively(async () => {
        clock.goOn();
        pump();
      }),
    wake(at: number) {
      mover.added();
      if (at <= clock.now()) pump();
      else arm(at);
    },
    /** Runs every due job, and those that become due at the same instant. Returns how many ran. */
    settle: (): Promise<number> =>
      exclusively(async () => {
        if (clock.mode === "manual") return mover.settle();
        let ran = 0;
        for (;;) {
          await Promise.all([pumping, ...running]);
          const rows = stopped ? [] : await claimAll(runner, clock);
          // A claim in progress may have taken some due jobs: the end of each run starts one.
          if (rows.length === 0 && running.size === 0 && pumping === undefined) return ran;
          for (const row of rows) begin(row);
          ran += rows.length;
        }
      }),
    // An earlier call may have let the clock run on. So `target` and `check` throw unless it is manual when the move begins.
    /** Runs the jobs of every due time up to `target`, in order; with `until`, no further than necessary. */
    advance: (target: (now: number) => number, until?: Until): Promise<number> =>
      exclusively(async () => mover.move(target(clock.now()), until)),
    /** Moves to the due time of the next one-off job and runs it. Without such a job it does nothing. */
    advanceToNext: (check: () => void) =>
      exclusively(async () => {
        check();
        return mover.advanceToNext();
      }),
    /** Repeats `advanceToNext` until only periodic jobs are waiting. */
    runUntilIdle: (check: () => void) =>
      exclusively(async () => {
        check();
        return mover.runUntilIdle();
      }),
    async stop() {
      stopped = true;
      mover.stop();
      clearTimeout(timer);
      stopPoll();
      await pumping;
      await Promise.all(running);
      await mutex;
      clearTimeout(heartbeat);
    },
    /** The number of jobs that `settle` or `advance` are running under a manual clock. */
    runningByHand: mover.running,
    /** Gives running jobs back to the queue at an orderly shutdown, without counting a crash. */
    release: () => runner.release(),
  };
}
