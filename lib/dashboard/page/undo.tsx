import { useState } from "preact/hooks";
import { session } from "./api.ts";
import { isMoving, type Move, moves, undo, undone, unlessRefused, wordsOf } from "./clock.ts";
import { control, type StoredSnapshot } from "./control.ts";
import { Action, Button } from "./controls.tsx";
import "./deeds.ts";
import { agoOf, instantOf } from "./format-time.ts";
import { serviceNow, useRead } from "./live.ts";
import { Modal } from "./modal.tsx";
import { useNames } from "./names.ts";
import type { Say } from "./toasts.tsx";
import { Text } from "./ui.tsx";
import type { Loss } from "./undo-loss.ts";
import { Problem, useWork } from "./work.tsx";

const mostShown = 6;

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

/** How long an undone state is kept to go to it again. */
const kept_ms = 30_000;

/**
 * Takes back the last move of the clock by a page. Asks first if that also takes back what somebody else did, and can
 * go back to what this tab did.
 */
export function Undo({ say }: { say: Say }) {
  const [loss, setLoss] = useState<Loss & { readonly move: Move }>();
  const { data: snapshots } = useRead("snapshots of moves", readSnapshots, ({ kind }) => kind === "instruments");
  // Another tab may have taken back a move of this one.
  const own = moves.value.findLast(({ id }) => !snapshots || snapshots.some((one) => one.id === id));
  const last = own ?? (isMoving.value ? undefined : moveOf(snapshots ?? []));
  const close = () => setLoss(undefined);
  const goBack = async ({ records, others, isOwn }: Loss, move: Move) => {
    const left = await undo(move, isOwn || others.length > 0);
    close();
    const empty = left ? "Undone" : "Nothing else changed";
    const text = records.length === 0 ? empty : `Undone: ${records.join(", ")}`;
    say(text, left && { label: "Redo", run: left.redo, forget: left.forget, shown_ms: kept_ms });
  };
  const run = async () => {
    if (!last) return;
    const { lossOf } = await import("./pages/instruments.tsx");
    const found = await lossOf(last);
    if (found.others.length === 0) await goBack(found, last);
    else setLoss({ ...found, move: last });
  };
  return (
    <>
      <Action kind="time" icon="undo" reason={last ? undefined : "The clock has not been moved yet."} run={run}>
        {/^\+/.test(last?.words ?? "") ? `Undo ${last?.words}` : "Undo"}
      </Action>
      {last && <span class="hint far">back to {instantOf(last.from)}</span>}
      {loss && <Ask of={loss} close={close} run={() => goBack(loss, loss.move)} />}
    </>
  );
}

function Ask({ of, close, run }: { of: Loss & { move: Move }; close: () => void; run: () => Promise<unknown> }) {
  const { isBusy, error, start } = useWork(run);
  const { person } = useNames();
  const makerOf = ({ user_id, at }: Loss["others"][number]) =>
    user_id && at ? `by ${user_id === session.value?.user_id ? "you" : person(user_id)}, ${agoOf(at)}` : "";
  return (
    <Modal label="Undo" close={close}>
      <div class="stack">
        <h2>Undo this too?</h2>
        <p>The service goes back to {instantOf(of.move.from)} UTC. What was done elsewhere since then is lost:</p>
        <ul class="plain">
          {of.others.slice(0, mostShown).map((one, i) => (
            <li key={`${i} ${one.text}`}>
              <Text of={one.text} class="mono" /> <span class="hint">{makerOf(one)}</span>
            </li>
          ))}
        </ul>
        {of.others.length > mostShown && <p class="hint">and {of.others.length - mostShown} more.</p>}
        <p class="hint">In all: {of.records.join(", ") || "no record changes"}.</p>
        <Problem error={error} />
        <div class="row end">
          <Button kind="quiet" onClick={close}>
            Close
          </Button>
          <Button kind="destroy" isBusy={isBusy} onClick={start}>
            Undo
          </Button>
        </div>
      </div>
    </Modal>
  );
}
