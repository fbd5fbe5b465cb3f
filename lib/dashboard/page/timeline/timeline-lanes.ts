import { pageOf } from "../clock.ts";
import type { JournalEntry } from "../control.ts";
import type { LaneNames } from "../timeline-names.ts";

/** A mark on the axis: a moment, or a state from its start to its end. */
export interface Mark {
  /** Unique within the axis. */
  readonly key: string;
  readonly at: number;
  /** The end of a state; undefined for a moment and for a state that has not ended. */
  readonly to?: number;
  readonly isState: boolean;
  readonly hue: "good" | "bad" | "busy" | "plain";
  /** The text for the user. */
  readonly text: string;
  readonly page: string | undefined;
  /** Whether the mark comes from a preview and has not happened yet. */
  readonly isAhead: boolean;
  readonly entry: JournalEntry;
}

export interface Lane {
  /** Its first digit is the order of its kind. */
  readonly key: string;
  readonly title: string;
  readonly page: string | undefined;
  readonly marks: readonly Mark[];
  /** The group that this lane heads, which it opens and closes. */
  readonly heads?: Group;
  readonly isCollapsed?: boolean;
}

export const groups = ["Deployments", "Generations", "Receivers"] as const;
export type Group = (typeof groups)[number];
/** Which groups a person closed or opened. */
export type Folded = Readonly<Partial<Record<Group, boolean>>>;
/** A group with more lanes is closed until a person opens it. */
const mostOpen = 20;

const ended = ["active", "failed", "cancelled", "rolled_back", "completed", "succeeded"];
export const hueOf = (status: string): Mark["hue"] =>
  /^(active|completed|succeeded)$/.test(status)
    ? "good"
    : /^(failed|rolled_back)$/.test(status)
      ? "bad"
      : ended.includes(status)
        ? "plain"
        : "busy";

const short = (id: string) => `${id.split("_")[0]} …${id.slice(-6)}`;

function momentOf(entry: JournalEntry, isAhead: boolean): Mark {
  const about = { key: `${isAhead ? "ahead" : "past"} ${entry.seq}`, at: Date.parse(entry.at), isAhead, entry };
  const moment = { ...about, isState: false };
  switch (entry.kind) {
    case "request": {
      const isBad = entry.status === null || entry.status >= 500;
      const hue = isBad ? "bad" : entry.status !== null && entry.status >= 400 ? "busy" : "plain";
      const text = `${entry.method} ${entry.path} ${entry.status ?? "broke off"}`;
      return { ...moment, hue, text, page: undefined };
    }
    case "event":
      return { ...moment, hue: "plain", text: entry.event, page: pageOfEvent(entry.data) ?? "/events" };
    case "try": {
      const isGood = entry.status !== null && entry.status >= 200 && entry.status < 300;
      const text = `${entry.event}, attempt ${entry.number}: ${entry.status ?? entry.error}`;
      return { ...moment, hue: isGood ? "good" : "bad", text, page: pageOf(entry.endpoint_id) };
    }
    default:
      return { ...moment, isState: true, hue: hueOf(entry.status), text: entry.status, page: pageOf(entry.id) };
  }
}

/** The page of the record that an event is about. */
function pageOfEvent(data: object): string | undefined {
  const ids = ["deployment_id", "generation_id", "project_id"] as const;
  for (const name of ids) {
    const id = (data as Record<string, unknown>)[name];
    if (typeof id === "string") return pageOf(id);
  }
  return undefined;
}

interface Placed {
  readonly key: string;
  readonly title: string;
  readonly page: string | undefined;
  readonly group?: Group;
}

/** The lane of an entry: one for each environment, generation and receiver, one for all requests, one for all events. */
function laneOf(entry: JournalEntry, names: LaneNames): Placed {
  if (entry.kind === "request") return { key: "0", title: "Requests", page: "/requests" };
  if (entry.kind === "event") return { key: "1", title: "Events", page: "/events" };
  const id = entry.kind === "try" ? entry.endpoint_id : entry.id;
  const title = names.get(id) ?? short(id);
  const page = pageOf(id);
  if (entry.kind === "try") return { key: `4 ${id}`, title, page, group: "Receivers" };
  return entry.of === "generation"
    ? { key: `3 ${id}`, title, page, group: "Generations" }
    : { key: `2 ${title}`, title, page, group: "Deployments" };
}

type Growing = Lane & { readonly marks: Mark[]; readonly group?: Group };

/** The lanes of the axis, requests first; the others in groups, each with a lane that heads it. */
export function lanesOf(
  past: readonly JournalEntry[],
  ahead: readonly JournalEntry[],
  names: LaneNames,
  folded: Folded = {},
): Lane[] {
  const lanes = new Map<string, Growing>();
  /** Where the last state of each record is: the next one ends it. */
  const last = new Map<string, { readonly lane: Growing; readonly index: number }>();
  const add = (entry: JournalEntry, isAhead: boolean) => {
    const about = laneOf(entry, names);
    const mark = momentOf(entry, isAhead);
    const before = entry.kind === "state" ? last.get(entry.id) : undefined;
    const lane = before?.lane ?? rowFor(lanes, about, mark);
    const open = before && lane.marks[before.index];
    if (before && open) lane.marks[before.index] = { ...open, to: mark.at };
    lane.marks.push(mark);
    if (entry.kind === "state") last.set(entry.id, { lane, index: lane.marks.length - 1 });
  };
  for (const entry of past) add(entry, false);
  for (const entry of ahead) add(entry, true);
  const all = [...lanes.values()].sort((a, b) => a.key.charCodeAt(0) - b.key.charCodeAt(0));
  const single = all.filter(({ group }) => group === undefined);
  return [
    ...single,
    ...groups.flatMap((group): Lane[] => {
      const its = all.filter((lane) => lane.group === group);
      if (its.length === 0) return [];
      const isCollapsed = folded[group] ?? its.length > mostOpen;
      const marks = its.flatMap((lane) => lane.marks.map((mark) => ({ ...mark, isState: false })));
      const head: Lane = {
        key: `head ${group}`,
        title: `${group} ${its.length}`,
        page: undefined,
        marks: isCollapsed ? marks.sort((a, b) => a.at - b.at) : [],
        heads: group,
        isCollapsed,
      };
      return [head, ...(isCollapsed ? [] : its)];
    }),
  ];
}

/** The most rows of one environment: beyond them, states are drawn over each other. */
const mostRows = 3;

/** The row of a lane that is free when a mark begins. Deployments to one environment overlap while some wait. */
function rowFor(lanes: Map<string, Growing>, about: Placed, mark: Mark): Growing {
  for (let row = 0; ; row++) {
    const key = row === 0 ? about.key : `${about.key} ${row}`;
    const lane = lanes.get(key);
    if (!lane) {
      const made = { ...about, key, marks: [] };
      lanes.set(key, made);
      return made;
    }
    const isFree =
      row + 1 === mostRows ||
      !mark.isState ||
      lane.marks.every((one) => (one.to !== undefined ? one.to <= mark.at : !isOpen(one)));
    if (isFree) return lane;
  }
}

/** Whether a state is still going on. */
export const isOpen = ({ isState, to, entry }: Mark): boolean =>
  isState && to === undefined && entry.kind === "state" && !ended.includes(entry.status);

/**
 * The situation at one time: the states of deployments and generations, and the number of entries of each kind until
 * then.
 */
export interface AsOf {
  readonly states: readonly {
    readonly id: string;
    readonly of: string;
    readonly status: string;
    readonly since: string;
  }[];
  readonly counts: Readonly<Record<JournalEntry["kind"], number>>;
}

export function asOf(entries: readonly JournalEntry[], at: number): AsOf {
  const states = new Map<string, AsOf["states"][number]>();
  const counts = { request: 0, state: 0, event: 0, try: 0 };
  for (const entry of entries) {
    if (Date.parse(entry.at) > at) continue;
    counts[entry.kind] += 1;
    if (entry.kind === "state")
      states.set(entry.id, { id: entry.id, of: entry.of, status: entry.status, since: entry.at });
  }
  return { states: [...states.values()].reverse(), counts };
}

/** Groups overlapping marks, which are drawn as one. */
export function clusters(marks: readonly Mark[], x: (at: number) => number, gap: number): (readonly Mark[])[] {
  const groups: Mark[][] = [];
  for (const mark of marks) {
    const last = groups.at(-1);
    const first = last?.[0];
    if (last && first && x(mark.at) - x(first.at) < gap && first.isAhead === mark.isAhead) last.push(mark);
    else groups.push([mark]);
  }
  return groups;
}
