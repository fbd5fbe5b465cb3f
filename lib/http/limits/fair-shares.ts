import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { untilAborted } from "../../kernel/node/abort.ts";
import { createLines, yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import type { Cancellation } from "./cancellation.ts";

/*
 * The streams and lists of an organization send at most 10,000 entries a second together, and as many at once after a
 * pause. Its long answers and large bodies have another budget, so that a followed log delays no GET.
 */
const perMillisecond = 10;
const ahead = 10_000;
/** The entries that a millisecond of work counts as: large bodies take at most half of the processor time. */
const perWorked = 20;
/** Waiting work is woken after a multiple of this time. */
const turn_ms = 20;
/** An entry with more characters counts as several. */
const characters = 1_000;
/** After this many entries in a tick, the next request of a budget waits for the next tick. */
const maxInTick = 400;
/** Beyond this number of budgets, those that have used nothing in advance are forgotten. */
const maxKnown = 10_000;

export type FairShares = ReturnType<typeof createFairShares>;

/** Shares the time of a service among its clients: what each has used of its budget, and who is next. */
export function createFairShares() {
  /** For each budget, the time up to which it is used, in tenths of a millisecond. Each entry adds one. */
  const used = new Map<string, number>();
  /** What each budget used in this tick. */
  const usedNow = new Map<string, number>();
  let nextTick = Promise.resolve();
  const inLine = createLines();

  const now = () => monotonicNow() * perMillisecond;
  const usedBy = (budget: string) => Math.max(used.get(budget) ?? 0, now());
  const isLate = (budget: string) => (used.get(budget) ?? 0) - ahead >= now();
  const isBusy = (budget: string) => (usedNow.get(budget) ?? 0) >= maxInTick;

  /** Takes the right to send entries. Resolves when the budget has time for them; undefined if it has time now. */
  function acquire(budget: string, entries = 1): Promise<void> | undefined {
    const from = usedBy(budget);
    used.set(budget, from + entries);
    const late = from - ahead - now();
    if (late < 0) return undefined;
    const turns = Math.max(1, Math.ceil((late + entries) / perMillisecond / turn_ms));
    // `hold`, because in a test nothing else keeps the process alive.
    return new Promise((resolve) => systemTimer(turns * turn_ms, resolve, { hold: true }));
  }

  /** Counts sent entries, or their length if that is more, minus those that were acquired. Does not wait. */
  function charge(budget: string, entries: number, length: number, acquired = 0): void {
    const more = Math.max(entries, length / characters) - acquired;
    if (more === 0) return;
    used.set(budget, usedBy(budget) + more);
    if (usedNow.size === 0) nextTick = yieldToEventLoop().then(() => usedNow.clear());
    usedNow.set(budget, (usedNow.get(budget) ?? 0) + more);
    if (used.size > maxKnown) for (const [one, until] of used) if (until <= now()) used.delete(one);
  }

  /** Runs work in order, when the budget has time, and one per tick: hundreds of lists would block the process. */
  const inTurn = <T>(budget: string, run: () => T | Promise<T>): Promise<T> =>
    inLine(budget, async () => {
      // One wait covers all that was used before it began.
      await acquire(budget, 0);
      while (isBusy(budget)) await nextTick;
      return run();
    });

  /** Waits for the turn of a request; undefined if it need not wait. Rejects if the request is cancelled. */
  const waitForTurn = (budget: string, cancel: () => Cancellation): Promise<void> | undefined =>
    isLate(budget) || isBusy(budget)
      ? whileWanted(
          inTurn(budget, () => {}),
          cancel(),
        )
      : undefined;

  /** Runs work at once, and charges its time. */
  function work<T>(budget: string, run: () => T): T {
    const begun = monotonicNow();
    try {
      return run();
    } finally {
      charge(budget, (monotonicNow() - begun) * perWorked, 0);
    }
  }

  return { acquire, charge, inTurn, waitForTurn, work };
}

/** Waits for a turn. If the request is cancelled, ends the cancellation and rejects. */
export const whileWanted = <T>(turn: Promise<T>, { signal, end }: Cancellation): Promise<T> =>
  untilAborted(signal, () => turn).catch((reason) => {
    end();
    throw reason instanceof Problem ? reason : new Problem("unavailable", "the client has left");
  });
