import { systemTimer } from "../kernel/clock.ts";

/** The streams of an organization send at most 10,000 entries a second together, so the other requests get their time. */
const perTurn = 200;
const turn_ms = 20;

/** The entries of this turn, by organization. */
const taken = new Map<string, number>();
let turn: Promise<void> | undefined;

const nextTurn = (): Promise<void> =>
  new Promise((resolve) =>
    systemTimer(
      turn_ms,
      () => {
        turn = undefined;
        taken.clear();
        resolve();
      },
      // In a test, nothing else may keep the process alive.
      { hold: true },
    ),
  );

/** Takes the right to send one entry. Resolves when it is this stream's turn. Undefined: at once. */
export function takeTurn(organization_id: string): Promise<void> | undefined {
  turn ??= nextTurn();
  const count = taken.get(organization_id) ?? 0;
  if (count >= perTurn) return turn.then(() => takeTurn(organization_id));
  taken.set(organization_id, count + 1);
  return undefined;
}
