import { useState } from "preact/hooks";
import { isMoving, type Move, moves, undone, unlessRefused, wordsOf } from "./clock.ts";
import { control, type StoredSnapshot } from "./control.ts";
import { Action } from "./controls.tsx";
import { instantOf } from "./format-time.ts";
import { serviceNow, useRead } from "./live.ts";
import type { Say } from "./toasts.tsx";
import type { AskLoss, Loss } from "./undo-loss.tsx";

const readSnapshots = async () => (await unlessRefused(control.snapshots())) ?? [];

/** The last move of another tab that has not been taken back: moves name their snapshots like this. */
function moveOf(snapshots: readonly StoredSnapshot[]): Move | undefined {
  const found = snapshots.findLast(
    ({ id, name, now }) => !undone.has(id) && Date.parse(now) <= serviceNow() && wordsOf(name) !== undefined,
  );
  // Changes of the same millisecond usually came before the move.
  const to = found && new Date(Date.parse(found.now) + 1).toISOString();
  return found && to ? { id: found.id, words: wordsOf(found.name) ?? "", from: found.now, to } : undefined;
}

/**
 * Takes back the last move of the clock by a page. Asks first if that also takes back what somebody else did, and can
 * go back to what this tab did.
 */
export function Undo({ say }: { say: Say }) {
  const [loss, setLoss] = useState<{ readonly of: Loss & { move: Move }; readonly Ask: typeof AskLoss }>();
  const { data: snapshots } = useRead("snapshots of moves", readSnapshots, ({ kind }) => kind === "instruments");
  // Another tab may have taken back a move of this one.
  const own = moves.value.findLast(({ id }) => !snapshots || snapshots.some((one) => one.id === id));
  const last = own ?? (isMoving.value ? undefined : moveOf(snapshots ?? []));
  const close = () => setLoss(undefined);
  const goBack = async ({ records, others, isOwn }: Loss, move: Move) => {
    const { undo } = await import("./pages/instruments.tsx");
    const left = await undo(move, isOwn || others.length > 0);
    close();
    const empty = left ? "Undone" : "Nothing else changed";
    const text = records.length === 0 ? empty : `Undone: ${records.join(", ")}`;
    say(text, left && { label: "Redo", run: left.redo, forget: left.forget });
  };
  const run = async () => {
    if (!last) return;
    const { lossOf, AskLoss } = await import("./pages/instruments.tsx");
    const found = await lossOf(last);
    if (found.others.length === 0) await goBack(found, last);
    else setLoss({ of: { ...found, move: last }, Ask: AskLoss });
  };
  return (
    <>
      <Action kind="time" icon="undo" reason={last ? undefined : "The clock has not been moved yet."} run={run}>
        {/^\+/.test(last?.words ?? "") ? `Undo ${last?.words}` : "Undo"}
      </Action>
      {last && <span class="hint far">back to {instantOf(last.from)}</span>}
      {loss && <loss.Ask of={loss.of} close={close} run={() => goBack(loss.of, loss.of.move)} />}
    </>
  );
}
