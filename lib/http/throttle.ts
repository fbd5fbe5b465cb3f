import { systemTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { monotonicNow } from "../kernel/system.ts";
import type { Cancellation } from "./cancellation.ts";

/*
 * The streams and lists of an organization send at most 10,000 entries a second together, and as many at once after a
 * pause. So the other requests get their time: 10,000 entries take 0.1 s of it. Its long answers have an account of
 * their own, so that a followed log delays no GET.
 */
const perMillisecond = 10;
const ahead = 10_000;
const turn_ms = 20;
/** A longer entry counts as several. */
const characters = 1_000;

/** How long a client may read nothing before it is cut off. */
export const longestPause_ms = 30_000;

/** For each account, a time in tenths of a millisecond: now, and one more for each entry that it took ahead. */
const taken = new Map<string, number>();
/** The accounts that wait for the next turn. */
const late = new Set<string>();
let turn: Promise<void> | undefined;

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
  const now = monotonicNow() * perMillisecond;
  const from = Math.max(taken.get(account) ?? now, now);
  if (late.has(account) || from - now >= ahead) {
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
  const now = monotonicNow() * perMillisecond;
  const from = Math.max(taken.get(account) ?? now, now);
  taken.set(account, from + more);
}

/**
 * Waits for the turn of a request. Rejects once nobody wants its answer any more. Undefined: there is nothing to wait
 * for.
 */
export function waitForTurn(account: string, cancel: () => Cancellation): Promise<void> | undefined {
  const turn = taken.has(account) ? takeTurn(account, 0) : undefined;
  return turn && whileWanted(turn, cancel());
}

/** Waits, and rejects once nobody wants the answer any more. */
export async function whileWanted(turn: Promise<void>, { signal }: Cancellation): Promise<void> {
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  if (!signal.aborted) await Promise.race([turn, aborted]);
  if (signal.aborted)
    throw signal.reason instanceof Problem ? signal.reason : new Problem("unavailable", "the client has left");
}
