import { milliseconds } from "./duration.ts";
import type { Snapshotable } from "./snapshotable.ts";

/**
 * The one source of time. Everything that waits asks this clock: lifecycles, retries, leases, invitations, rate
 * windows, periodic work. Only this module, `ids`, `random` and `jobs/loop` may touch the machine's own time.
 */
export interface Clock extends Snapshotable {
  readonly mode: "real" | "manual" | "scaled";
  /** Milliseconds since 1970, by this clock. */
  now(): number;
  /** The same instant as ISO 8601 in UTC with milliseconds. */
  iso(): string;
  /** Real milliseconds until this clock shows `at`; undefined where it stands until it is moved. */
  until(at: number): number | undefined;
  /** Calls `run` once, when this clock shows `at`, and never within this call. Answers how to take it back. */
  alarm(at: number, run: () => void): () => void;
  /** Sets a standing clock forward. Throws for the other modes and for a step back. */
  moveTo(at: number): void;
  /** Lets it stand at this very instant: from now on it is a manual clock. */
  freeze(): void;
}

/** What `clock` options and `--clock` take: `real`, `manual`, `manual@2026-01-01T00:00:00Z`, `60x`. */
export function createClock(setting: string, notBefore = 0): Clock {
  if (setting === "real") return clockOf({ mode: "real", at: 0, speed: 1 });
  const scale = /^(\d{1,6}(?:\.\d{1,3})?)x$/.exec(setting);
  if (scale && Number(scale[1]) > 0)
    return clockOf({ mode: "scaled", at: Math.max(Date.now(), notBefore), speed: Number(scale[1]) });
  // A kept clock goes on where it stood: bare `manual` means the present only where there is nothing to go on from.
  const at = setting === "manual" ? notBefore || Date.now() : parseInstant(/^manual@(.+)$/.exec(setting)?.[1] ?? "");
  if (at === undefined) {
    throw new Error(`clock must be real, manual, manual@2026-01-01T00:00:00Z or a speed such as 60x, not "${setting}"`);
  }
  if (at < 0) throw new Error(`clock must not begin before 1970, which no identifier can bear, not "${setting}"`);
  return clockOf({ mode: "manual", at: Math.max(at, notBefore), speed: 0 });
}

/** Milliseconds of an ISO 8601 instant with a date, a time and a zone, of a year of four digits; undefined for anything else. */
export function parseInstant(text: string): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const at = Date.parse(text);
  if (!parts || Number.isNaN(at) || at < earliestInstant || at > latestInstant) return undefined;
  // Date.parse turns 30 February into 2 March; a date that does not exist must not pass.
  return new Date(`${parts[1]}T00:00:00Z`).toISOString().startsWith(parts[1] ?? "?") ? at : undefined;
}

const places = 31;
const written = { at: new Float64Array(places).fill(Number.NaN), text: new Array<string>(places).fill("") };

/**
 * ISO 8601 in UTC with milliseconds, as every datetime of the interface is written. The last few are remembered, because
 * a busy service asks for the same ones many times: for this millisecond, and for what is due so much later.
 */
export function isoOf(at: number): string {
  const place = Math.abs(at | 0) % places;
  if (written.at[place] !== at) {
    written.text[place] = new Date(at).toISOString();
    written.at[place] = at;
  }
  return written.text[place] ?? "";
}

const earliestInstant = Date.parse("0000-01-01T00:00:00Z");
/** The latest instant that an ISO datetime with four digits of year can name. */
export const latestInstant = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** A clock of one of the modes; `at` counts for those that do not show the machine's own time. */
interface ClockState {
  readonly mode: Clock["mode"];
  readonly at: number;
  readonly speed: number;
}

function clockOf(reading: ClockState): Clock {
  let { mode, at, speed } = reading;
  let since = Date.now();
  const now = () => {
    if (mode === "manual") return at;
    return mode === "real" ? Date.now() : Math.floor(at + (Date.now() - since) * speed);
  };
  const until = (to: number) => (mode === "manual" ? undefined : Math.max(0, Math.ceil((to - now()) / speed)));
  const alarms = createAlarms({ now, until });
  return {
    get mode() {
      return mode;
    },
    now,
    iso: () => isoOf(now()),
    until,
    alarm: alarms.add,
    moveTo(to) {
      if (mode !== "manual")
        throw new Error('this clock runs by itself; create the service with clock: "manual" to move it');
      if (to < at) throw new Error(`the clock stands at ${isoOf(at)} and never goes back to ${isoOf(to)}`);
      at = to;
      alarms.set();
    },
    freeze() {
      at = now();
      mode = "manual";
    },
    save: (): ClockState => ({ mode, at: now(), speed }),
    load(kept) {
      ({ mode, at, speed } = kept as ClockState);
      since = Date.now();
      alarms.set();
    },
  };
}

interface Alarm {
  readonly at: number;
  readonly run: () => void;
  cancel: () => void;
}

/** The alarms of a clock, by the machine's timers where it runs. `set` is called whenever the clock was set. */
function createAlarms({ now, until }: Pick<Clock, "now" | "until">) {
  const all = new Set<Alarm>();
  const ring = (alarm: Alarm) => {
    alarm.cancel();
    // One that rang before may have taken this one back.
    if (all.delete(alarm)) alarm.run();
  };
  const arm = (alarm: Alarm) => {
    alarm.cancel();
    const wait = until(alarm.at);
    if (wait !== undefined) alarm.cancel = systemTimer(wait, () => (now() < alarm.at ? arm(alarm) : ring(alarm)));
  };
  return {
    add(at: number, run: () => void) {
      const alarm: Alarm = { at, run, cancel: () => {} };
      all.add(alarm);
      arm(alarm);
      return () => {
        alarm.cancel();
        all.delete(alarm);
      };
    },
    set() {
      const due = [...all].filter(({ at }) => at <= now()).sort((a, b) => a.at - b.at);
      for (const alarm of due) ring(alarm);
      for (const alarm of all) arm(alarm);
    },
  };
}

/** Milliseconds of the machine since the process began: to tell how long something took, and never to decide anything. */
export const monotonicNow = (): number => performance.now();

/** A timer of the machine, not of the service: for flushing and shutting down. Only `hold` keeps the process alive. */
export function systemTimer(wait: string | number, run: () => void, { hold = false } = {}): () => void {
  // setTimeout fires at once beyond 24.8 days, so no wait is longer than a minute; who needs more asks again.
  const timer = setTimeout(run, Math.min(typeof wait === "string" ? milliseconds(wait) : wait, 60_000));
  if (!hold) timer.unref();
  return () => clearTimeout(timer);
}
