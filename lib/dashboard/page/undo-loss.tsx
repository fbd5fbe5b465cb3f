import { api, isOwnRequest, orNone, session } from "./api.ts";
import type { Move } from "./clock.ts";
import { type Comparison, control } from "./control.ts";
import { Button } from "./controls.tsx";
import { deeds } from "./deeds.ts";
import { agoOf, countOf, instantOf } from "./format-time.ts";
import { Modal } from "./modal.tsx";
import { useNames } from "./names.ts";
import { controlCallsSince, moveAfter } from "./recent-requests.ts";
import { Text } from "./ui.tsx";
import { Problem, useWork } from "./work.tsx";

/** What an undo takes back. Read only when somebody presses it, so it is in a file of its own. */
export interface Loss {
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

export async function lossOf({ id, to }: Move): Promise<Loss> {
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

export function AskLoss({
  of,
  close,
  run,
}: {
  of: Loss & { move: Move };
  close: () => void;
  run: () => Promise<unknown>;
}) {
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
