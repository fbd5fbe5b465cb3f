import { systemTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { monotonicNow } from "../kernel/system.ts";
import type { Cancellation } from "./cancellation.ts";

/*
 * The streams and whole logs of an organization send at most 10,000 entries a second together, and as many at once
 * after a pause. So the other requests get their time: 10,000 entries take 0.1 s of it.
 */
const perMillisecond = 10;
const ahead = 10_000;
const turn_ms = 20;
/** A longer entry counts as several. */
const characters = 1_000;

/** For each organization, a time in tenths of a millisecond: now, and one more for each entry that it took ahead. */
const taken = new Map<string, number>();
/** The organizations that wait for the next turn. */
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
export function takeTurn(organization_id: string, entries = 1): Promise<void> | undefined {
  const now = monotonicNow() * perMillisecond;
  const from = Math.max(taken.get(organization_id) ?? now, now);
  if (late.has(organization_id) || from - now >= ahead) {
    late.add(organization_id);
    turn ??= nextTurn();
    return turn.then(() => takeTurn(organization_id, entries));
  }
  taken.set(organization_id, from + entries);
  return undefined;
}

/** Counts what was sent, without a wait: entries, or their length if that is more, without those that had a turn. */
export function take(organization_id: string, entries: number, length: number, hadTurn = 0): void {
  const more = Math.max(entries, length / characters) - hadTurn;
  if (more === 0) return;
  const now = monotonicNow() * perMillisecond;
  const from = Math.max(taken.get(organization_id) ?? now, now);
  taken.set(organization_id, from + more);
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
