import * as v from "valibot";
import type { Change } from "../../features/events/change-feed.ts";
import type { LoggedRequest } from "../../http/request-log.ts";
import { type Clock, parseInstant } from "../../kernel/clock.ts";
import { invalid } from "../../kernel/errors.ts";
import { check, oneOf, record } from "../../kernel/validation.ts";

const kinds = ["request", "state", "event", "try"] as const;
type Kind = (typeof kinds)[number];

/** One entry. `seq` counts across all kinds; `at` is the time on the service's clock. */
export type JournalEntry = { readonly seq: number; readonly at: string } & (
  | ({ readonly kind: "request" } & LoggedRequest)
  | {
      readonly kind: "state";
      readonly of: "deployment" | "generation";
      readonly organization_id: string;
      readonly id: string;
      readonly status: string;
    }
  | {
      readonly kind: "event";
      readonly organization_id: string;
      readonly id: string;
      readonly event: string;
      readonly data: object;
    }
  /** A delivery attempt ended. */
  | Omit<Extract<Change, { kind: "try" }>, "at">
);
type Unnumbered = JournalEntry extends infer E ? (E extends unknown ? Omit<E, "seq" | "at"> : never) : never;

/** The number of entries that are kept of each kind; the oldest are dropped. */
const maxEntries = 1000;

const sinceRule = "must be the seq of an entry, or an instant such as 2026-01-01T00:00:00Z";
const since = v.pipe(
  v.union([v.number(), v.string()], sinceRule),
  v.transform((given) => (typeof given === "string" && /^\d{1,15}$/.test(given) ? Number(given) : given)),
  v.check(
    (given) =>
      typeof given === "string" ? parseInstant(given) !== undefined : Number.isSafeInteger(given) && given >= 0,
    sinceRule,
  ),
);

export const journalQuery = record({
  /** After the entry with this `seq`, or from this instant on. */
  since: v.optional(since),
  kind: v.optional(oneOf(kinds)),
});
export type JournalQuery = v.InferInput<typeof journalQuery>;

export type Journal = ReturnType<typeof createJournal>;

type Entries = Readonly<Record<Kind, readonly JournalEntry[]>>;
interface Saved {
  readonly seq: number;
  readonly entries: Entries;
}

/** The journal entry of a change; undefined for changes that do not interest testers. */
function entryOf(change: Change): Unnumbered | undefined {
  if (change.kind === "deployment" || change.kind === "generation") {
    if (change.isProgress) return undefined;
    const { kind: of, organization_id, id, status } = change;
    return { kind: "state", of, organization_id, id, status };
  }
  if (change.kind === "event") {
    const { organization_id, id, event, data } = change;
    return { kind: "event", organization_id, id, event, data };
  }
  if (change.kind !== "try") return undefined;
  const { at: _, ...entry } = change;
  return entry;
}

/** Records the latest requests, state changes, events and attempts for testers. It holds no secrets and no bodies. */
export function createJournal(clock: Clock, added: () => void) {
  let seq = 0;
  let entries: Record<Kind, JournalEntry[]> = { request: [], state: [], event: [], try: [] };

  const add = (entry: Unnumbered) => {
    const of = entries[entry.kind];
    seq += 1;
    of.push({ seq, at: clock.iso(), ...entry });
    added();
    // Only once per 1,000 entries, because the cost of a splice grows with the list.
    if (of.length >= 2 * maxEntries) of.splice(0, of.length - maxEntries);
  };
  const newest = (kind: Kind) => entries[kind].slice(-maxEntries);

  return {
    request(seen: LoggedRequest): void {
      // The tester's own calls are not recorded.
      if (!seen.path.startsWith("/_svc/")) add({ kind: "request", ...seen });
    },
    change(change: Change): void {
      const entry = entryOf(change);
      if (entry) add(entry);
    },
    /** The stored entries, oldest first. Throws a 422 for an invalid query. */
    list(query: JournalQuery = {}): JournalEntry[] {
      const { since, kind } = check(journalQuery, query);
      if (Number(since) > seq)
        throw invalid("since", `must be at most ${seq}, the newest entry: a reset or a restore ends the later ones`);
      const from = typeof since === "string" ? (parseInstant(since) ?? 0) : undefined;
      const isNew = (entry: JournalEntry) =>
        from === undefined ? entry.seq > Number(since ?? 0) : Date.parse(entry.at) >= from;
      return (kind ? [kind] : kinds)
        .flatMap(newest)
        .filter(isNew)
        .sort((a, b) => a.seq - b.seq);
    },
    save: (): unknown =>
      ({
        seq,
        entries: { request: newest("request"), state: newest("state"), event: newest("event"), try: newest("try") },
      }) satisfies Saved,
    load(value: unknown): void {
      const before = value as Saved;
      seq = before.seq;
      const { request, state, event } = before.entries;
      entries = { request: [...request], state: [...state], event: [...event], try: [...before.entries.try] };
    },
  };
}
