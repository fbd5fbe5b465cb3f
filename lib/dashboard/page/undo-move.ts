import { request } from "./api.ts";
import { forget, keep, type Move, markOf, moves, nameOf, type Stored, takeSnapshot, undone } from "./clock.ts";
import { setServiceTime } from "./live.ts";

async function restore({ id }: Pick<Move, "id">, mark?: string): Promise<void> {
  const { now } = (await request("POST", `/_svc/snapshots/${id}/restore`, undefined, undefined, mark)) as Stored;
  setServiceTime(now);
}

/** A state that an undo left, for a while. */
export interface Left {
  /** Goes to it again, as a move that can be undone. */
  readonly redo: () => Promise<void>;
  readonly forget: () => Promise<unknown>;
}

/** Restores the state before a move. Everything since then is lost, unless it is kept. */
export async function undo(last: Move, isKept: boolean): Promise<Left | undefined> {
  const left = isKept ? await takeSnapshot("left by Undo") : undefined;
  undone.add(last.id);
  keep(moves.value.filter(({ id }) => id !== last.id));
  await restore(last);
  await forget(last);
  if (!left) return undefined;
  const redo = async () => {
    const before = await takeSnapshot(nameOf("redo"));
    await restore(left, markOf(before));
    await forget(left);
    keep([...moves.value, { id: before.id, words: "redo", from: before.now, to: left.now }]);
  };
  return { redo, forget: () => forget(left) };
}
