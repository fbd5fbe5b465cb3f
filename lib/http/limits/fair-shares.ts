import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import type { Cancellation } from "./cancellation.ts";

/*
 * The streams and lists of an organization send at most 10,000 entries a second together, and as many at once after a
 * pause. So the other requests get their time: 10,000 entries take 0.1 s of it. Its long answers and large bodies have
 * an account of their own, so that a followed log delays no GET. Organizations of two services in one process may have the same id.
 */
const perMillisecond = 10;
const ahead = 10_000;
/**
 * What a millisecond of work counts as: large bodies take at most half of the processor time. Before, six connections
 * with wrong bodies of 1 MB brought the 99th percentile of others to 0.7 s.
 */
const perWorked = 20;
const turn_ms = 20;
/** A longer entry counts as several. */
const characters = 1_000;

/** How long a client may read nothing before it is cut off. */
export const longestPause_ms = 30_000;

/** Beyond so many accounts, those that wait for nothing are forgotten. */
const mostKnown = 10_000;
const mostInTick = 400;

/** In tenths of a millisecond. */
const now = () => monotonicNow() * perMillisecond;

export type Throttle = ReturnType<typeof createThrottle>;

/** The accounts of one service. */
export function createThrottle() {
  /** For each account, a time in tenths of a millisecond: now, and one more for each entry that it took ahead. */
  const taken = new Map<string, number>();
  /** What each account took in this tick. A request that comes after so much waits for the next one. */
  const takenNow = new Map<string, number>();
  let nextTick = Promise.resolve();
  /** The accounts that wait for the next turn. */
  const late = new Set<string>();
  let turn: Promise<void> | undefined;
  /** For each account, resolves when the last request that waits has had its turn. */
  const lines = new Map<string, Promise<void>>();

  const nextTurn = (): Promise<void> =>
    new Promise((resolve) =>
      systemTimer(
        turn_ms,
        () => {
          turn = undefined;
          late.clear();
          resolve();
        },
        // In a test, nothing else may keep the process alive.
        { hold: true },
      ),
    );

  /** Takes the right to send entries. Resolves when it is the caller's turn. Undefined: at once. */
  function takeTurn(account: string, entries = 1): Promise<void> | undefined {
    const at = now();
    const from = Math.max(taken.get(account) ?? at, at);
    if (late.has(account) || from - at >= ahead) {
      late.add(account);
      turn ??= nextTurn();
      return turn.then(() => takeTurn(account, entries));
    }
    taken.set(account, from + entries);
    return undefined;
  }

  /** Counts what was sent, without a wait: entries, or their length if that is more, without those that had a turn. */
  function take(account: string, entries: number, length: number, hadTurn = 0): void {
    const more = Math.max(entries, length / characters) - hadTurn;
    if (more === 0) return;
    const at = now();
    taken.set(account, Math.max(taken.get(account) ?? at, at) + more);
    if (takenNow.size === 0) nextTick = yieldToEventLoop().then(() => takenNow.clear());
    takenNow.set(account, (takenNow.get(account) ?? 0) + more);
    if (taken.size > mostKnown) for (const [one, until] of taken) if (until <= at) taken.delete(one);
  }

  const isLate = (account: string) => late.has(account) || (taken.get(account) ?? 0) - ahead >= now();
  const isBusy = (account: string) => (takenNow.get(account) ?? 0) >= mostInTick;

  /** Waits for the turn of a request. Rejects once nobody wants its answer any more. Undefined: it has its turn. */
  function waitForTurn(account: string, cancel: () => Cancellation): Promise<void> | undefined {
    return isLate(account) || isBusy(account) ? lineUp(account, cancel()) : undefined;
  }

  /**
   * Requests that wait get their turns in ticks of their own. When all of them began in one tick, 900 long lists held the
   * process for 22 s.
   */
  async function lineUp(account: string, cancellation: Cancellation): Promise<void> {
    const before = lines.get(account);
    const own = (async () => {
      if (before !== undefined) await whileWanted(before.then(yieldToEventLoop), cancellation);
      const next = () => takeTurn(account, 0) ?? (isBusy(account) ? nextTick : undefined);
      for (let turn = next(); turn !== undefined; turn = next()) await whileWanted(turn, cancellation);
    })();
    // Those behind a client that leaves still wait for those before it.
    const had = Promise.allSettled([before, own]).then(() => {
      if (lines.get(account) === had) lines.delete(account);
    });
    lines.set(account, had);
    await own;
  }

  /** Does work at once, and counts its time. */
  function work<T>(account: string, run: () => T): T {
    const begun = monotonicNow();
    try {
      return run();
    } finally {
      take(account, (monotonicNow() - begun) * perWorked, 0);
    }
  }

  return { takeTurn, take, waitForTurn, work };
}

/** Waits. Ends the cancellation and rejects once nobody wants the answer any more. */
export async function whileWanted(turn: Promise<void>, { signal, end }: Cancellation): Promise<void> {
  let leave = () => {};
  const aborted = new Promise<void>((resolve) => {
    leave = resolve;
    signal.addEventListener("abort", leave);
  });
  if (!signal.aborted) await Promise.race([turn, aborted]);
  signal.removeEventListener("abort", leave);
  if (!signal.aborted) return;
  end();
  throw signal.reason instanceof Problem ? signal.reason : new Problem("unavailable", "the client has left");
}
