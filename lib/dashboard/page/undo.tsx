import { useState } from "preact/hooks";
import { api, isOwnRequest, orNone } from "./api.ts";
import { done } from "./calls.ts";
import { isMoving, type Move, moves, undo, undone, unlessRefused } from "./clock.ts";
import { control, type StoredSnapshot } from "./control.ts";
import { Action, Button } from "./controls.tsx";
import { instantOf } from "./format-time.ts";
import { serviceNow, useRead } from "./live.ts";
import { Modal } from "./modal.tsx";
import { controlCallsSince } from "./recent-requests.ts";
import { Text } from "./ui.tsx";
import { Problem, useWork } from "./work.tsx";

interface Loss {
  /** What goes back: "1 project goes". */
  readonly records: readonly string[];
  /** What somebody else did since the move. */
  readonly others: readonly string[];
}

const ways = {
  added: ["goes", "go"],
  changed: ["goes back", "go back"],
  removed: ["comes back", "come back"],
} as const;
/** Calls that change nothing that stays. */
const idle = /^\/_svc\/((preview|forks|settle|deliveries\/orders)\b|snapshots(\/[^/]+)?$)/;

/** Whether this tab made a change that the audit log lists. */
const isOwn = (action: string, target: string | null) =>
  done.value.some(
    ({ call, answer }) =>
      call.id === action &&
      (Object.values(call.params).includes(target ?? "") || (answer as { id?: unknown } | undefined)?.id === target),
  );

/** Whether this tab made a record, by whatever call: a deployment also comes from a rollback. */
const isMade = (id: string) =>
  done.value.some(
    ({ call, answer }) =>
      (answer as { id?: unknown } | undefined)?.id === id && !Object.values(call.params).includes(id),
  );

async function lossOf({ id, to, number }: Move): Promise<Loss> {
  const [{ counts, changes }, journal, controlled, audit] = await Promise.all([
    control.compare(id, ""),
    control.requestsSince(to),
    // The journal leaves out the control interface and what dashboards do. Only some roles may read what other tabs did.
    controlCallsSince(number),
    orNone(api["audit-log"].list({ per_page: 50 })),
  ]);
  const calls = [...journal, ...controlled].flatMap(({ method, path, status, request_id }) => {
    if (method === "GET" || isOwnRequest(request_id)) return [];
    return (status ?? 500) < 400 && !idle.test(path) ? [`${method} ${path}`] : [];
  });
  // The audit log omits new deployments and generations.
  const made = changes.flatMap(({ change, type, id }) => {
    const isWork = change === "added" && (type === "deployment" || type === "generation");
    const isListed = isMade(id) || calls.includes(`POST /v1/${type}s`);
    return isWork && !isListed ? [`${type}s.create ${id}`] : [];
  });
  const entries = audit.data.flatMap(({ at, action, target, via }) =>
    at < to || via !== "dashboard" || isOwn(action, target) ? [] : [`${action} ${target ?? ""}`],
  );
  const records = Object.entries(counts).flatMap(([type, count]) =>
    Object.entries(ways).flatMap(([way, [one, more]]) => {
      const number = count[way as keyof typeof ways];
      const name = type.replaceAll("_", " ").replace(/([^aeiou])y$/, number === 1 ? "$1y" : "$1ie");
      return number === 0 ? [] : [number === 1 ? `1 ${name} ${one}` : `${number} ${name}s ${more}`];
    }),
  );
  return { records, others: [...calls, ...made, ...entries] };
}

const mostShown = 6;

const readSnapshots = async () => (await unlessRefused(control.snapshots())) ?? [];

/** The last move of another tab that has not been taken back: moves name their snapshots like this. */
function moveOf(snapshots: readonly StoredSnapshot[]): Move | undefined {
  const found = snapshots.findLast(
    ({ id, name, now }) =>
      !undone.has(id) &&
      Date.parse(now) <= serviceNow() &&
      /^before (\+(\d+(ms|[smhd]))+|next|idle|\d{4}-\d\d-\d\dT[\d:.]+Z)$/.test(name ?? ""),
  );
  // Changes of the same millisecond usually came before the move.
  const to = found && new Date(Date.parse(found.now) + 1).toISOString();
  return found && to ? { id: found.id, from: found.now, to, number: undefined } : undefined;
}

/** Takes back the last move of the clock by a page. Asks first if that also takes back what somebody else did. */
export function Undo({ said }: { said: (text: string) => void }) {
  const [loss, setLoss] = useState<Loss & { readonly move: Move }>();
  const { data: snapshots } = useRead("snapshots of moves", readSnapshots, ({ kind }) => kind === "instruments");
  // Another tab may have taken back a move of this one.
  const own = moves.value.findLast(({ id }) => !snapshots || snapshots.some((one) => one.id === id));
  const last = own ?? (isMoving.value ? undefined : moveOf(snapshots ?? []));
  const close = () => setLoss(undefined);
  const goBack = async ({ records }: Loss, move: Move) => {
    await undo(move);
    close();
    said(records.length === 0 ? "Nothing else changed" : `Undone: ${records.join(", ")}`);
  };
  const { isBusy, error, start } = useWork(async () => loss && goBack(loss, loss.move));
  const run = async () => {
    if (!last) return;
    const found = await lossOf(last);
    if (found.others.length === 0) await goBack(found, last);
    else setLoss({ ...found, move: last });
  };
  return (
    <>
      <Action kind="time" icon="undo" reason={last ? undefined : "The clock has not been moved yet."} run={run}>
        Undo
      </Action>
      {last && <span class="hint far">back to {instantOf(last.from)}</span>}
      {loss && (
        <Modal label="Undo" close={close}>
          <div class="stack">
            <h2>Undo what others did too?</h2>
            <p>
              The service goes back to {instantOf(loss.move.from)} UTC. Since the move, somebody else changed something,
              and that is lost:
            </p>
            <ul class="plain mono">
              {loss.others.slice(0, mostShown).map((text, i) => (
                <li key={`${i} ${text}`}>
                  <Text of={text} />
                </li>
              ))}
            </ul>
            {loss.others.length > mostShown && <p class="hint">and {loss.others.length - mostShown} more.</p>}
            <p class="hint">In all: {loss.records.join(", ") || "no record changes"}.</p>
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
      )}
    </>
  );
}
