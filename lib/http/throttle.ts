import { systemTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { yieldToEventLoop } from "../kernel/event-loop.ts";
import { monotonicNow } from "../kernel/system.ts";
import type { Cancellation } from "./cancellation.ts";

/*
 * The streams and lists of an organization send at most 10,000 entries a second together, and as many at once after a
 * pause. So the other requests get their time: 10,000 entries take 0.1 s of it. Its long answers and large bodies have
 * an account of their own, so that a followed log delays no GET.
 */
const perMillisecond = 10;
const ahead = 10_000;
/** What a millisecond of work counts as: large bodies take at most half of the processor time. */
const perWorked = 20;
const turn_ms = 20;
/** A longer entry counts as several. */
const characters = 1_000;

/** How long a client may read nothing before it is cut off. */
export const longestPause_ms = 30_000;

/** Beyond so many accounts, those that wait for nothing are forgotten. */
const mostKnown = 10_000;
/** For each account, a time in tenths of a millisecond: now, and one more for each entry that it took ahead. */
const taken = new Map<string, number>();
/** The accounts that wait for the next turn. */
const late = new Set<string>();
let turn: Promise<void> | undefined;

/** In tenths of a millisecond. */
const now = () => monotonicNow() * perMillisecond;

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
export function takeTurn(account: string, entries = 1): Promise<void> | undefined {
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
export function take(account: string, entries: number, length: number, hadTurn = 0): void {
  const more = Math.max(entries, length / characters) - hadTurn;
  if (more === 0) return;
  const at = now();
  taken.set(account, Math.max(taken.get(account) ?? at, at) + more);
  if (taken.size > mostKnown) for (const [one, until] of taken) if (until <= at) taken.delete(one);
}

/** The last of the requests that wait, for each account. */
const lines = new Map<string, Promise<unknown>>();

/** Waits for the turn of a request. Undefined: there is nothing to wait for. */
export function waitForTurn(account: string, cancel: () => Cancellation): Promise<void> | undefined {
  const isLate = lines.has(account) || late.has(account) || (taken.get(account) ?? 0) - ahead >= now();
  return isLate ? lineUp(account, cancel) : undefined;
}

/**
 * Waits for the turn of a request, and for a tick after the one before it: requests that waited together would otherwise
 * all do their work in one tick. Rejects once nobody wants the answer any more. Six connections with wrong bodies of
 * 1 MB brought the 99th percentile of others to 0.7 s, and 900 long lists held the process for 22 s.
 */
export async function lineUp(account: string, cancel: () => Cancellation): Promise<void> {
  const before = lines.get(account);
  const own = (async () => {
    if (before !== undefined) {
      await before.catch(() => {});
      await yieldToEventLoop();
    }
    const turn = takeTurn(account, 0);
    if (turn !== undefined) await whileWanted(turn, cancel());
  })();
  lines.set(account, own);
  try {
    await own;
  } finally {
    if (lines.get(account) === own) lines.delete(account);
  }
}

/** Does work at once, and counts its time. */
export function work<T>(account: string, run: () => T): T {
  const begun = monotonicNow();
  try {
    return run();
  } finally {
    take(account, (monotonicNow() - begun) * perWorked, 0);
  }
}

/** Waits, and rejects once nobody wants the answer any more. The cancellation has ended then. */
export async function whileWanted(turn: Promise<void>, { signal, end }: Cancellation): Promise<void> {
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  if (!signal.aborted) await Promise.race([turn, aborted]);
  if (!signal.aborted) return;
  end();
  throw signal.reason instanceof Problem ? signal.reason : new Problem("unavailable", "the client has left");
}
