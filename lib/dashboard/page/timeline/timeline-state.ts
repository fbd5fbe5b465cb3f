import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { readClock, readUpcoming, unlessRefused } from "../clock.ts";
import { control, type JournalEntry } from "../control.ts";
import { type Change, type Read, serviceTime, useRead } from "../live.ts";
import { lookedAhead } from "../look-ahead.tsx";
import { go } from "../router.ts";
import { useLaneNames } from "../timeline-names.ts";
import { type AxisProps, panned, type View, zoomed } from "./timeline-axis.tsx";
import { foldsOf, placeOf, timeAt } from "./timeline-folds.ts";
import { type Folded, type Group, type Lane, lanesOf, type Mark } from "./timeline-lanes.ts";
import { mergedWith, readRecorded } from "./timeline-records.ts";

const concerns = ({ kind }: Change) => kind === "journal" || kind === "instruments";
/** How many entries of each kind the service keeps. */
const mostEntries = 1000;

/**
 * Reads the journal once, then only new entries. After a restore the journal may be a different one, so it is read
 * completely.
 */
function useJournal(): Read<readonly JournalEntry[]> {
  const known = useRef<readonly JournalEntry[]>([]);
  return useRead(
    "journal",
    async () => {
      const last = known.current.at(-1);
      const [same, ...fresh] = last ? await control.journal(last.seq - 1) : [];
      const isSame = last !== undefined && JSON.stringify(same) === JSON.stringify(last);
      known.current = isSame ? [...known.current, ...fresh].slice(-8 * mostEntries) : await control.journal();
      return known.current;
    },
    concerns,
  );
}

/** The maximum number of lanes for deployments and generations. Shows the newest: nobody reads more. */
const mostLanes = 40;

/** The groups of lanes that a person closed or opened. */
const stored = "svc-folded";

/** The last view of the axis, in times, restored when a person comes back to it. */
let lastView: View | undefined;

/** A pause this many times as long as what came after it ends what happened lately. */
const longPause = 3;
const shortestLately = 10_000;
/** So many moments are in view, however long ago they were. */
const fewestLately = 12;

/** A view of what happened lately, up to a little after now, or after the end of a preview. All are places on the axis. */
function lately(places: readonly number[], now: number, until: number): View {
  // What was looked ahead fills two thirds.
  if (until > now) return { from: now - (until - now) / 2, to: until + (until - now) * 0.08 };
  const last = Math.max(now, places.at(-1) ?? now);
  let first = last;
  for (const [i, place] of [...new Set(places)].reverse().entries()) {
    if (i > fewestLately && first - place > Math.max(shortestLately, longPause * (last - first))) break;
    first = place;
  }
  first = Math.min(first, now);
  const span = Math.max(shortestLately, last - first);
  return { from: first - span * 0.04, to: last + span * 0.08 };
}

/** A view of everything from the first entry to now, or to the end of a preview. */
function whole(places: readonly number[], until: number): View {
  const first = places[0] ?? until - 60_000;
  const span = Math.max(10_000, until - first);
  return { from: first - span * 0.03, to: until + span * 0.06 };
}

/** How many entries lie beyond one edge of the view, and the time of the nearest. */
export interface Beyond {
  readonly count: number;
  readonly nearest: number | undefined;
}
const beyond = (times: readonly number[], { from, to }: View): { readonly before: Beyond; readonly after: Beyond } => {
  const [before, after] = [times.filter((time) => time < from), times.filter((time) => time > to)];
  return {
    before: { count: before.length, nearest: before.at(-1) },
    after: { count: after.length, nearest: after[0] },
  };
};

const isWork = (key: string) => key.startsWith("2") || key.startsWith("3");

/** The lanes in view. If there are too many deployments and generations, only the newest of them. */
function inView(lanes: readonly Lane[], { from, to }: View, now: number): readonly Lane[] {
  const seen = lanes.filter(({ marks, key }) => {
    const [first, last] = [marks[0]?.at ?? 0, marks.at(-1)];
    return !isWork(key) || (first <= to && Math.max(last?.at ?? 0, last?.hue === "busy" ? now : 0) >= from);
  });
  const work = seen.filter(({ key }) => isWork(key));
  const hidden = new Set(work.slice(0, Math.max(0, work.length - mostLanes)));
  return seen.filter((lane) => !hidden.has(lane));
}

/** The time axis: its content and its controls. `at` is the playhead. */
export function useTimeline(at: number | undefined, setAt: (at: number | undefined) => void) {
  const { data: journal, error } = useJournal();
  const { data: recorded } = useRead("recorded", readRecorded, ({ kind }) => kind === "instruments");
  const entries = useMemo(() => recorded && journal && mergedWith(recorded, journal), [recorded, journal]);
  const { data: about } = useRead(
    "timeline",
    async () => ({
      clock: await readClock(),
      upcoming: await readUpcoming(),
      snapshots: (await unlessRefused(control.snapshots())) ?? [],
    }),
    concerns,
  );
  const names = useLaneNames();
  const [folded, setFolded] = useState<Folded>(() => JSON.parse(localStorage.getItem(stored) ?? "{}"));
  const [view, setView] = useState(lastView);
  const [picked, setPicked] = useState<readonly Mark[]>([]);
  const ahead = lookedAhead.value;
  const keep = (next: View | undefined) => {
    lastView = next;
    setView(next);
  };
  // The axis reaches as far as was looked ahead.
  useEffect(() => {
    if (ahead) keep(undefined);
  }, [ahead]);
  if (!entries || !journal || !about) return { error };
  const now = Math.max(serviceTime.value?.now ?? 0, Date.parse(about.clock.now));
  const until = ahead ? Math.max(now, Date.parse(ahead.now)) : now;
  const timesOf = (of: readonly JournalEntry[]) => of.map((entry) => Date.parse(entry.at));
  const [past, coming] = [timesOf(entries), timesOf(ahead?.entries ?? [])];
  // What was looked ahead is not folded.
  const folds = foldsOf([...past, now]);
  const place = (time: number) => placeOf(folds, time);
  const show = ({ from, to }: View) => keep({ from: timeAt(folds, from), to: timeAt(folds, to) });
  const places = past.map(place);
  const shown = view ? { from: place(view.from), to: place(view.to) } : lately(places, place(now), place(until));
  const seen = { from: timeAt(folds, shown.from), to: timeAt(folds, shown.to) };
  const all = lanesOf(entries, ahead?.entries ?? [], names, folded);
  const toggle = (group: Group) => {
    const next = { ...folded, [group]: !all.find(({ heads }) => heads === group)?.isCollapsed };
    localStorage.setItem(stored, JSON.stringify(next));
    setFolded(next);
  };
  const pick = (marks: readonly Mark[], time: number) => {
    setPicked(marks);
    setAt(marks[0]?.isAhead || time > now ? undefined : Math.round(time));
  };
  const leave = () => {
    setPicked([]);
    setAt(undefined);
  };
  const center = (time: number) =>
    show(panned(shown, (place(time) - (shown.from + shown.to) / 2) / (shown.to - shown.from)));
  /** Picks the next mark before or after the chosen one. */
  const step = (direction: 1 | -1) => {
    const marks = all.flatMap((lane) => lane.marks).sort((a, b) => a.at - b.at || a.entry.seq - b.entry.seq);
    const index = marks.findIndex(({ key }) => key === picked[0]?.key);
    const from = index >= 0 ? index : direction > 0 ? -1 : marks.length;
    const next = marks[from + direction];
    if (!next) return;
    pick([next], next.at);
    if (next.at < seen.from || next.at > seen.to) center(next.at);
  };
  const zoom = (by: number) => show(zoomed(shown, by));
  const toNow = () => show(panned(shown, (place(now) - shown.to) / (shown.to - shown.from) + 0.1));
  const open = () => {
    const page = picked[0]?.page;
    if (page) go(page);
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => show(panned(shown, -0.1)),
    ArrowRight: () => show(panned(shown, 0.1)),
    "Shift+ArrowLeft": () => step(-1),
    "Shift+ArrowRight": () => step(1),
    "+": () => zoom(0.7),
    "=": () => zoom(0.7),
    "-": () => zoom(1 / 0.7),
    Home: () => keep(undefined),
    End: toNow,
    Escape: leave,
    Enter: open,
  };
  const onKey = (event: KeyboardEvent) => {
    const isArrow = event.key.startsWith("Arrow");
    const run = keys[`${event.shiftKey && isArrow ? "Shift+" : ""}${event.key}`];
    if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    run();
  };
  const axis: AxisProps = {
    lanes: inView(all, seen, now),
    view: shown,
    folds,
    now,
    at,
    chosen: picked[0]?.key,
    due: about.upcoming.map((one) => Date.parse(one.at)),
    onView: show,
    onPick: pick,
    onKey,
    onToggle: toggle,
  };
  return {
    timeline: {
      axis,
      zoom,
      showAll: () => show(whole(places, Math.max(place(until), places.at(-1) ?? 0))),
      toNow,
      center,
      seen,
      beyond: beyond([...past, ...coming], seen),
      entries,
      journal,
      about,
      now,
      at,
      picked,
      ahead,
      leave,
    },
  };
}

export type Timeline = NonNullable<ReturnType<typeof useTimeline>["timeline"]>;
