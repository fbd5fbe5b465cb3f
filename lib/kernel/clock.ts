import { milliseconds } from "./duration.ts";
import type { Snapshotable } from "./snapshotable.ts";
import { clearTimeout, setTimeout, systemNow } from "./system.ts";

/**
 * The time of a service. Everything that waits uses it: lifecycles, retries, leases, invitations, rate windows,
 * periodic jobs. Only `kernel` and `jobs/loop` may use the time of the machine.
 */
export interface Clock extends Snapshotable {
  readonly mode: "real" | "manual" | "scaled";
  /** Milliseconds since 1970, by this clock. */
  now(): number;
  /** The current time as ISO 8601 in UTC with milliseconds. */
  iso(): string;
  /** System milliseconds until this clock shows `at`; undefined for a manual clock. */
  until(at: number): number | undefined;
  /** Calls `run` once when this clock shows `at`, and never synchronously. Returns the function that cancels it. */
  alarm(at: number, run: () => void): () => void;
  /** Sets a manual clock forward. Throws for the other modes, and for an earlier time. */
  moveTo(at: number): void;
  /** Stops the clock at the current instant and makes it a manual clock. */
  freeze(): void;
}

/** A clock by the option `clock` or `--clock`: `real`, `manual`, `manual@2026-01-01T00:00:00Z`, `60x`. */
export function createClock(setting: string, notBefore = 0): Clock {
  if (setting === "real") return clockOf({ mode: "real", at: 0, speed: 1 });
  const scale = /^(\d{1,6}(?:\.\d{1,3})?)x$/.exec(setting);
  if (scale && Number(scale[1]) > 0)
    return clockOf({ mode: "scaled", at: Math.max(systemNow(), notBefore), speed: Number(scale[1]) });
  // A stored clock continues where it stopped: plain `manual` starts at the present in a new database only.
  const at = setting === "manual" ? notBefore || systemNow() : parseInstant(/^manual@(.+)$/.exec(setting)?.[1] ?? "");
  if (at === undefined) {
    throw new Error(`clock must be real, manual, manual@2026-01-01T00:00:00Z or a speed such as 60x, not "${setting}"`);
  }
  if (at < 0)
    throw new Error(
      `clock must not begin before 1970, because identifiers cannot hold earlier times, not "${setting}"`,
    );
  return clockOf({ mode: "manual", at: Math.max(at, notBefore), speed: 0 });
}

/**
 * Milliseconds of an ISO 8601 instant with date, time, zone and a year of four digits; undefined for any other text.
 */
export function parseInstant(text: string): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const at = Date.parse(text);
  if (!parts || Number.isNaN(at) || at < earliestInstant || at > latestInstant) return undefined;
  // Date.parse accepts 30 February as 2 March, so the date is compared with what it parses to.
  return new Date(`${parts[1]}T00:00:00Z`).toISOString().startsWith(parts[1] ?? "?") ? at : undefined;
}

const cacheSize = 31;
const cache = { at: new Float64Array(cacheSize).fill(Number.NaN), text: new Array<string>(cacheSize).fill("") };

/**
 * ISO 8601 in UTC with milliseconds, the form of every datetime of the interface. The last results are cached, because
 * a busy service formats the same instants again: the current millisecond, and due times that derive from it. A cached
 * one takes 20 ns, a new one 660.
 */
export function isoOf(at: number): string {
  const slot = Math.abs(at | 0) % cacheSize;
  if (cache.at[slot] !== at) {
    cache.text[slot] = new Date(at).toISOString();
    cache.at[slot] = at;
  }
  return cache.text[slot] ?? "";
}

const earliestInstant = Date.parse("0000-01-01T00:00:00Z");
/** The latest instant with a year of four digits. */
export const latestInstant = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** `at` and `speed` are unused in the mode `real`. */
interface ClockState {
  readonly mode: Clock["mode"];
  readonly at: number;
  readonly speed: number;
}

function clockOf(state: ClockState): Clock {
  let { mode, at, speed } = state;
  let since = systemNow();
  const now = () => {
    if (mode === "manual") return at;
    return mode === "real" ? systemNow() : Math.floor(at + (systemNow() - since) * speed);
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
      alarms.clockMoved();
    },
    freeze() {
      at = now();
      mode = "manual";
    },
    save: (): ClockState => ({ mode, at: now(), speed }),
    load(saved) {
      ({ mode, at, speed } = saved as ClockState);
      since = systemNow();
      alarms.clockMoved();
    },
  };
}

interface Alarm {
  readonly at: number;
  readonly run: () => void;
  cancel: () => void;
}

/** The alarms of a clock: system timers where it runs by itself. `clockMoved` is called after the clock was set. */
function createAlarms({ now, until }: Pick<Clock, "now" | "until">) {
  const all = new Set<Alarm>();
  const fire = (alarm: Alarm) => {
    alarm.cancel();
    // An earlier alarm may have cancelled this one.
    if (all.delete(alarm)) alarm.run();
  };
  const arm = (alarm: Alarm) => {
    alarm.cancel();
    const wait = until(alarm.at);
    if (wait !== undefined) alarm.cancel = systemTimer(wait, () => (now() < alarm.at ? arm(alarm) : fire(alarm)));
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
    clockMoved() {
      const due = [...all].filter(({ at }) => at <= now()).sort((a, b) => a.at - b.at);
      for (const alarm of due) fire(alarm);
      for (const alarm of all) arm(alarm);
    },
  };
}

/** A timer of the system time, for flushing and shutting down. Only with `hold` it keeps the process alive. */
export function systemTimer(wait: string | number, run: () => void, { hold = false } = {}): () => void {
  // setTimeout fires at once beyond 24.8 days, so it waits a minute at most; callers set the timer again.
  const timer = setTimeout(run, Math.min(typeof wait === "string" ? milliseconds(wait) : wait, 60_000));
  if (!hold) timer.unref();
  return () => clearTimeout(timer);
}
