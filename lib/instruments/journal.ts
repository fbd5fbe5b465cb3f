import * as v from "valibot";
import type { Change } from "../events/change-feed.ts";
import type { Observed } from "../http/app.ts";
import { type Clock, parseInstant } from "../kernel/clock.ts";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { check, oneOf, record } from "../kernel/validation.ts";

const kinds = ["request", "state", "event", "try"] as const;
type Kind = (typeof kinds)[number];

/** What happened, on one axis: `seq` counts on through all kinds, `at` is the service's clock. */
export type JournalEntry = { readonly seq: number; readonly at: string } & (
  | ({ readonly kind: "request" } & Observed)
  /** A deployment or a generation entered a state. */
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
  /** A try of a delivery ended. */
  | Omit<Extract<Change, { kind: "try" }>, "at">
);
type Told = JournalEntry extends infer E ? (E extends unknown ? Omit<E, "seq" | "at"> : never) : never;

/** How many entries of each kind are kept: the newest. */
const most = 1000;

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
  /** After the entry of this `seq`, or from this instant on. */
  since: v.optional(since),
  kind: v.optional(oneOf(kinds)),
});
export type JournalQuery = v.InferInput<typeof journalQuery>;

export interface Journal extends Snapshotable {
  request(seen: Observed): void;
  change(change: Change): void;
  /** What is kept, oldest first. Throws a 422 for a query that is wrong. */
  list(query?: JournalQuery): JournalEntry[];
}

type Entries = Readonly<Record<Kind, readonly JournalEntry[]>>;
interface Kept {
  readonly seq: number;
  readonly entries: Entries;
}

/** What a change looks like here; undefined for those that say nothing to a tester. */
function toldOf(change: Change): Told | undefined {
  if (change.kind === "deployment" || change.kind === "generation") {
    const { kind: of, organization_id, id, status } = change;
    return { kind: "state", of, organization_id, id, status };
  }
  if (change.kind === "event") {
    const { organization_id, id, event, data } = change;
    return { kind: "event", organization_id, id, event, data };
  }
  if (change.kind !== "try") return undefined;
  const { at: _, ...told } = change;
  return told;
}

/** The last requests, moves, events and tries, for a tester who asks what happened. It holds no secret and no body. */
export function createJournal(clock: Clock): Journal {
  let seq = 0;
  let entries: Record<Kind, JournalEntry[]> = { request: [], state: [], event: [], try: [] };

  const add = (told: Told) => {
    const of = entries[told.kind];
    seq += 1;
    of.push({ seq, at: clock.iso(), ...told });
    // Now and then instead of at each entry: shortening a list costs as much as it is long.
    if (of.length >= 2 * most) of.splice(0, of.length - most);
  };
  const newest = (kind: Kind) => entries[kind].slice(-most);

  return {
    request(seen) {
      // What a tester does is no part of what is looked at.
      if (!seen.path.startsWith("/_svc/")) add({ kind: "request", ...seen });
    },
    change(change) {
      const told = toldOf(change);
      if (told) add(told);
    },
    list(query = {}) {
      const { since, kind } = check(journalQuery, query);
      const from = typeof since === "string" ? (parseInstant(since) ?? 0) : undefined;
      const isNew = (entry: JournalEntry) =>
        from === undefined ? entry.seq > Number(since ?? 0) : Date.parse(entry.at) >= from;
      return (kind ? [kind] : kinds)
        .flatMap(newest)
        .filter(isNew)
        .sort((a, b) => a.seq - b.seq);
    },
    save: (): Kept => ({
      seq,
      entries: { request: newest("request"), state: newest("state"), event: newest("event"), try: newest("try") },
    }),
    load(kept) {
      const before = kept as Kept;
      seq = before.seq;
      const { request, state, event } = before.entries;
      entries = { request: [...request], state: [...state], event: [...event], try: [...before.entries.try] };
    },
  };
}
