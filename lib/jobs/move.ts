import type { Clock } from "../kernel/clock.ts";
import { yieldToEventLoop } from "../kernel/node/event-loop.ts";
import { within } from "../kernel/node/promises.ts";
import { claimAll } from "./poll.ts";
import type { Runner } from "./runner.ts";

/** `runUntilIdle` gives up after this many due times. */
const maxDueTimes = 10_000;
/** A move gives up after this many turns at one instant. */
const maxTurns = 10_000;
/** A sink that has not answered a delivery after this many turns counts as waiting for its own timer. */
const turnsOfSink = 2_000;
/** A move holds the process for this many rests of 5 ms: longer than any delivery may take. */
const maxHeldRests = 4_000;

/** What follows a manual clock besides jobs: calls in process, sinks, and the timers of the code under test. */
export interface Company {
  /** Resolves once the calls in process are answered, or wait for time to pass. */
  quiet(): Promise<void>;
  /** Whether the service waits for its database. */
  isBusy(): boolean;
  /** Whether a sink is answering a delivery. */
  isAnswering(): boolean;
  /** The timers of the code under test; undefined unless they are coupled with the clock. */
  timers():
    | {
        next(): number | undefined;
        show(): Promise<void>;
        run(): Promise<void>;
        waiting(): readonly string[];
      }
    | undefined;
}

const alone: Company = {
  quiet: async () => {},
  isBusy: () => false,
  isAnswering: () => false,
  timers: () => undefined,
};

/** How `advanceUntil` moves: until `isOver`, from due time to due time, or by `step` if nothing is due before. */
export interface Until {
  readonly isOver: () => boolean;
  readonly step: number;
}

interface Ports {
  readonly clock: Clock;
  readonly runner: Runner;
  /** Stores the time, so that a crash does not set the clock back. */
  readonly storeClock: (at: number) => Promise<void>;
  /** Resolves when no job runs that began before the clock was frozen. */
  readonly begun: () => Promise<unknown>;
  readonly company?: Company | undefined;
}

const earliest = (...times: (number | undefined)[]): number | undefined => {
  const known = times.filter((at) => at !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

/** Moves a manual clock, and runs what falls due: jobs first, then the timers of the code under test. */
export function createMover({ clock, runner, storeClock, begun, company = alone }: Ports) {
  let stopped = false;
  let running = 0;
  let isChanged = true;

  const isDue = (at: number | undefined) => at !== undefined && at <= clock.now();

  /** Waits for a job. If the sink that answers its delivery sleeps with its own timer, moves time on. */
  const done = async (job: Promise<void>, target: number): Promise<void> => {
    const timers = company.timers();
    if (!timers) return job;
    let hasEnded = false;
    const end = job.finally(() => {
      hasEnded = true;
    });
    let hasRested = false;
    let busyRests = 0;
    for (let turns = 0; !hasEnded && !stopped; turns++) {
      await yieldToEventLoop();
      // At most for a time, since code that calls without a pause keeps the database busy.
      if (busyRests < maxHeldRests && company.isBusy()) {
        await within("5ms", end, undefined);
        busyRests += 1;
        turns = 0;
      }
      if (turns < turnsOfSink) continue;
      const timer = company.isAnswering() ? timers.next() : undefined;
      const next = timer === undefined ? undefined : await runner.next();
      const at = timer === undefined ? undefined : earliest(timer, next);
      const isAsleep = at !== undefined && at <= target;
      if (isAsleep && !hasRested) {
        if (at > clock.now()) clock.moveTo(at);
        if (isDue(next)) await drain(target);
        else await timers.run();
      }
      if (isAsleep) turns = 0;
      // Work that takes real time, such as painting, gets it. The sink may begin only then.
      else await within("5ms", end, undefined, { hold: turns < turnsOfSink + maxHeldRests });
      hasRested = !isAsleep;
    }
    return end;
  };

  const drain = async (target = 0): Promise<number> => {
    let ran = 0;
    await begun();
    for (;;) {
      const rows = stopped ? [] : await claimAll(runner, clock);
      if (rows.length === 0) return ran;
      for (const row of rows) {
        running += 1;
        await done(runner.run(row), target).finally(() => {
          running -= 1;
        });
      }
      ran += rows.length;
    }
  };

  let nextAt: number | undefined;
  /** The due time of the next job. Asks the store again only if jobs have run or were added. */
  const nextJob = async () => {
    if (isChanged) {
      isChanged = false;
      nextAt = await runner.next();
    }
    return nextAt;
  };
  /** Runs all work that is due at this instant, including work that it adds for this instant. */
  const instant = async (target: number): Promise<number> => {
    const timers = company.timers();
    let ran = 0;
    for (let turns = 0; !stopped; turns++) {
      await timers?.show();
      if (isDue(await nextJob())) {
        ran += await drain(target);
        isChanged = true;
        await company.quiet();
      } else if (isDue(timers?.next())) {
        if (turns === maxTurns)
          throw new Error(`at ${clock.iso()}, timers are set for this instant without end: ${timers?.waiting()[0]}`);
        await timers?.run();
        await company.quiet();
      } else break;
    }
    return ran;
  };

  /** Moves from one due time of jobs, alarms and timers to the next, or by `step` if nothing is due before. */
  const walk = async (target: number, { isOver = () => false, step = Number.POSITIVE_INFINITY }: Partial<Until>) => {
    const timers = company.timers();
    const from = clock.now();
    let stored = from;
    let ran = 0;
    isChanged = true;
    await company.quiet();
    while (!stopped && !isOver()) {
      const alarm = clock.nextAlarm();
      const due = earliest(await nextJob(), timers?.next(), alarm);
      // Coupled code knows no other time, so nothing can happen between due times.
      const at = Math.min(due ?? Number.POSITIVE_INFINITY, timers ? Number.POSITIVE_INFINITY : clock.now() + step);
      if (at > target) break;
      if (at > stored) {
        // Stores a time that is ahead by as much as has passed: few writes, and a crash never sets the clock back.
        stored = Math.min(target, Math.max(2 * at - from, at + step));
        await storeClock(stored);
      }
      if (at > clock.now()) clock.moveTo(at);
      if (at === alarm) await company.quiet();
      if (at === due) ran += await instant(target);
      else await yieldToEventLoop();
    }
    if (!isOver()) clock.moveTo(Math.max(target, clock.now()));
    await storeClock(clock.now());
    await timers?.show();
    return ran;
  };

  const move = async (target: number, until?: Until): Promise<number> => {
    if (target < clock.now()) clock.moveTo(target);
    if (until || company.timers()) return walk(target, until ?? {});
    // Stored before any job runs, so that a crash during a job does not set the clock back.
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

  const nextOneOff = () => runner.next("one-off");
  return {
    move,
    /** Runs every due job, and those that become due at the same instant. Returns how many ran. */
    async settle(): Promise<number> {
      if (!company.timers()) return drain();
      await company.quiet();
      isChanged = true;
      return instant(clock.now());
    },
    async advanceToNext(): Promise<number> {
      if (company.timers()) await company.quiet();
      const at = earliest(await nextOneOff(), company.timers()?.next());
      return at === undefined ? 0 : move(Math.max(at, clock.now()));
    },
    async runUntilIdle(): Promise<number> {
      if (company.timers()) await company.quiet();
      let ran = await drain();
      let dueTimes = 0;
      for (let at = await nextOneOff(); at !== undefined && !stopped; at = await nextOneOff()) {
        if (dueTimes++ === maxDueTimes)
          throw new Error(
            `after ${maxDueTimes} due times, at ${clock.iso()}, work still waits: does some of it never end?`,
          );
        ran += await move(Math.max(at, clock.now()));
      }
      return ran;
    },
    added() {
      isChanged = true;
    },
    running: () => running,
    stop() {
      stopped = true;
    },
  };
}
