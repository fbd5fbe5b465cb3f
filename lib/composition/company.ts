import type { FakeTimers } from "../config/options/timers.ts";
import type { Sinks } from "../emulator/instruments/sinks.ts";
import type { Company } from "../jobs/move.ts";
import type { Clock } from "../kernel/clock.ts";
import { yieldToEventLoop } from "../kernel/node/event-loop.ts";
import { type CodeTimers, coupleTimers } from "./code-timers.ts";

/** The turns of the event loop that code gets after an answer, to make its next call. */
const turnsOfCode = 3;
/** After this many turns without progress, a call counts as waiting for time: earlier if the clock has an alarm. */
const turnsOfCall = { withAlarm: 100, without: 20_000 };

/** Code that calls without a pause gets at most this many answers before time moves on. */
const maxChanges = 10_000;

/** The calls in process, and the timers of the code that makes these calls. */
export interface CodeCompany extends Company {
  counted<T>(call: Promise<T>): Promise<T>;
  /** Couples fake timers with the clock. Rejects if they are not fake, or coupled already. */
  couple(timers: FakeTimers): Promise<void>;
  release(): void;
}

interface Ports {
  readonly clock: () => Clock;
  readonly sinks: () => Pick<Sinks, "running">;
  /** Whether the service waits for its database. */
  readonly isBusy: () => boolean;
}

export function createCompany({ clock, sinks, isBusy }: Ports): CodeCompany {
  let calls = 0;
  let changes = 0;
  let timers: CodeTimers | undefined;
  const turns = () => {
    if (calls === 0) return turnsOfCode;
    return clock().nextAlarm() === undefined ? turnsOfCall.without : turnsOfCall.withAlarm;
  };
  return {
    counted(call) {
      calls += 1;
      changes += 1;
      return call.finally(() => {
        calls -= 1;
        changes += 1;
      });
    },
    async quiet() {
      const first = changes;
      let seen = changes;
      for (let still = 0; still < turns() && changes - first < maxChanges; still++) {
        await yieldToEventLoop();
        if (seen !== changes || isBusy()) still = 0;
        seen = changes;
      }
    },
    isBusy,
    isAnswering: () => sinks().running() > 0,
    timers: () => timers,
    async couple(given) {
      timers = await coupleTimers(given, clock);
    },
    release() {
      timers?.release();
      timers = undefined;
    },
  };
}
