import { useState } from "preact/hooks";
import { api, isOwnRequest, orNone, session } from "./api.ts";
import { isMoving, type Move, moves, undo, undone, unlessRefused, wordsOf } from "./clock.ts";
import { type Comparison, control, type StoredSnapshot } from "./control.ts";
import { Action, Button } from "./controls.tsx";
import { deeds } from "./deeds.ts";
import { agoOf, countOf, instantOf } from "./format-time.ts";
import { serviceNow, useRead } from "./live.ts";
import { Modal } from "./modal.tsx";
import { useNames } from "./names.ts";
import { controlCallsSince, moveAfter } from "./recent-requests.ts";
import type { Say } from "./toasts.tsx";
import { Text } from "./ui.tsx";
import { Problem, useWork } from "./work.tsx";

interface Loss {
  /** What goes back: "1 project goes". */
  readonly records: readonly string[];
  /** What somebody else did since the move, each with the person and the time where they are known. */
  readonly others: readonly { readonly text: string; readonly user_id?: string | null; readonly at?: string }[];
  /** Whether this tab changed something since the move. */
  readonly isOwn: boolean;
}

const ways = { added: ["goes", "go"], removed: ["comes back", "come back"] } as const;
/** Calls that change nothing that stays. */
const idle = /^\/_svc\/((preview|forks|settle|deliveries\/orders)\b|snapshots(\/[^/]+)?$)/;

/** What people call a record that the comparison lists; else its identifier. */
function nameIn({ changes }: Comparison, target: string | null): string {
  const { email, name, url } = changes.find(({ id }) => id === target)?.fields ?? {};
  return String((email ?? name ?? url)?.to ?? target ?? "");
}

const counted = (type: string, count: number) => {
  const name = type.replaceAll("_", " ");
  return countOf(count, name, name.replace(/([^aeiou])y$/, "$1ie").concat("s"));
};

function recordsOf({ counts }: Comparison): readonly string[] {
  const types = Object.entries(counts);
  const moved = types.flatMap(([type, count]) =>
    Object.entries(ways).flatMap(([way, [one, more]]) => {
      const number = count[way as keyof typeof ways];
      return number === 0 ? [] : [`${counted(type, number)} ${number === 1 ? one : more}`];
    }),
  );
  const changed = types.flatMap(([type, { changed }]) => (changed === 0 ? [] : [counted(type, changed)]));
  return [...moved, ...(changed.length === 0 ? [] : [`as before: ${changed.join(", ")}`])];
}

async function lossOf({ id, to }: Move): Promise<Loss> {
  const [compared, journal, controlled, audit] = await Promise.all([
    control.compare(id, ""),
    control.requestsSince(to),
    // The journal leaves out the control interface and what dashboards do. Only some roles may read what other tabs did.
    moveAfter(id)
      .catch(() => undefined)
      .then(controlCallsSince),
    orNone(api["audit-log"].list({ per_page: 50 })),
  ]);
  const calls = [...journal, ...controlled].filter(
    ({ method, path, status }) => method !== "GET" && (status ?? 500) < 400 && !idle.test(path),
  );
  const theirs = calls.filter(({ request_id }) => !isOwnRequest(request_id));
  const texts = theirs.map(({ method, path }) => `${method} ${path}`);
  const own = deeds();
  // The audit log omits new deployments and generations. A deployment also comes from a rollback.
  const made = compared.changes.filter(
    ({ change, type }) => change === "added" && (type === "deployment" || type === "generation"),
  );
  const isMade = (id: string) => own.some((deed) => deed.made === id && !deed.given.includes(id));
  const entries = audit.data.filter(({ at, via }) => at >= to && via === "dashboard");
  const isOwn = (action: string, target: string | null) =>
    own.some((deed) => deed.action === action && [...deed.given, deed.made].includes(target));
  return {
    records: recordsOf(compared),
    others: [
      ...[...new Set(texts)].map((text) => {
        const times = texts.filter((one) => one === text).length;
        return { text: times === 1 ? text : `${text} ×${times}` };
      }),
      ...made
        .filter(({ id, type }) => !isMade(id) && !texts.includes(`POST /v1/${type}s`))
        .map(({ id, type }) => ({ text: `${type}s.create ${id}` })),
      ...entries
        .filter(({ action, target }) => !isOwn(action, target))
        .map(({ action, target, user_id, at }) => ({ text: `${action} ${nameIn(compared, target)}`, user_id, at })),
    ],
    isOwn:
      calls.some(({ path, request_id }) => isOwnRequest(request_id) && !/^\/_svc\/(clock|snapshots)/.test(path)) ||
      made.some(({ id }) => isMade(id)) ||
      entries.some(({ action, target }) => isOwn(action, target)),
  };
}

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
