import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { untilAborted } from "../../kernel/node/abort.ts";
import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import type { Cancellation } from "./cancellation.ts";
import { createLines } from "./lines.ts";

/*
 * The streams and lists of an organization send at most 10,000 entries a second together, and as many at once after a
 * pause. So the other requests get their time: 10,000 entries take 0.1 s of it. Its long answers and large bodies have
 * an account of their own, so that a followed log delays no GET.
 */
const perMillisecond = 10;
const ahead = 10_000;
/** What a millisecond of work counts as: large bodies take at most half of the processor time. */
const perWorked = 20;
/** Who waits for its time is woken at multiples of this. */
const turn_ms = 20;
/** A longer entry counts as several. */
const characters = 1_000;
/** What an account may use in a tick before its next request waits for the next one. */
const mostInTick = 400;
/** Beyond so many accounts, those that have used nothing ahead are forgotten. */
const mostKnown = 10_000;

const noWork = () => {};

export type FairShares = ReturnType<typeof createFairShares>;

/** How the clients of one service share its time: what each account has used, and who is next. */
export function createFairShares() {
  /** For each account, a time in tenths of a millisecond: now, and one more for each entry that it took ahead. */
  const used = new Map<string, number>();
  /** What each account used in this tick. */
  const usedNow = new Map<string, number>();
  let nextTick = Promise.resolve();
  const inLine = createLines();

  const now = () => monotonicNow() * perMillisecond;
  const usedBy = (account: string) => Math.max(used.get(account) ?? 0, now());
  const isLate = (account: string) => usedBy(account) - ahead >= now();
  const isBusy = (account: string) => (usedNow.get(account) ?? 0) >= mostInTick;

  /** Takes the right to send entries. Resolves when the account has time for them. Undefined: at once. */
  function acquire(account: string, entries = 1): Promise<void> | undefined {
    const from = usedBy(account);
    used.set(account, from + entries);
    const late = from - ahead - now();
    if (late < 0) return undefined;
    const turns = Math.max(1, Math.ceil((late + entries) / perMillisecond / turn_ms));
    // In a test, nothing else may keep the process alive.
    return new Promise((resolve) => systemTimer(turns * turn_ms, resolve, { hold: true }));
  }

  /** Counts what was sent, without a wait: entries, or their length if that is more, without what was acquired. */
  function charge(account: string, entries: number, length: number, acquired = 0): void {
    const more = Math.max(entries, length / characters) - acquired;
    if (more === 0) return;
    used.set(account, usedBy(account) + more);
    if (usedNow.size === 0) nextTick = yieldToEventLoop().then(() => usedNow.clear());
    usedNow.set(account, (usedNow.get(account) ?? 0) + more);
    if (used.size > mostKnown) for (const [one, until] of used) if (until <= now()) used.delete(one);
  }

  /**
   * Runs work when the account has time, each in a tick of its own, after the work before it. When all of them began in
   * one tick, 900 long lists held the process for 22 s.
   */
  const inTurn = <T>(account: string, run: () => T | Promise<T>): Promise<T> =>
    inLine(account, async () => {
      // One wait pays for all that was used before it. What others use meanwhile comes after it.
      await acquire(account, 0);
      while (isBusy(account)) await nextTick;
      return run();
    });

  /** Waits for the turn of a request. Rejects once nobody wants its answer any more. Undefined: it has its turn. */
  const waitForTurn = (account: string, cancel: () => Cancellation): Promise<void> | undefined =>
    isLate(account) || isBusy(account) ? whileWanted(inTurn(account, noWork), cancel()) : undefined;

  /** Does work at once, and counts its time. */
  function work<T>(account: string, run: () => T): T {
    const begun = monotonicNow();
    try {
      return run();
    } finally {
      charge(account, (monotonicNow() - begun) * perWorked, 0);
    }
  }

  return { acquire, charge, inTurn, waitForTurn, work };
}

/** Waits. Ends the cancellation and rejects once nobody wants the answer any more. */
export const whileWanted = <T>(turn: Promise<T>, { signal, end }: Cancellation): Promise<T> =>
  untilAborted(signal, () => turn).catch((reason) => {
    end();
    throw reason instanceof Problem ? reason : new Problem("unavailable", "the client has left");
  });
