import { clearTimeout, monotonicNow, setTimeout, systemNow } from "./node/system.ts";
import type { Snapshotable } from "./snapshotable.ts";
import { milliseconds } from "./text/duration.ts";

/** All waiting uses this clock. Only `kernel` and `jobs/loop` may use the machine's time. */
export interface Clock extends Snapshotable {
  readonly mode: "real" | "manual" | "scaled";
  /** The seconds of this clock in one second of the machine's: 1 for `real`, 0 for `manual`. */
  readonly speed: number;
  /** Milliseconds since 1970, by this clock. */
  now(): number;
  /** The current time as ISO 8601 in UTC with milliseconds. */
  iso(): string;
  /** System milliseconds until this clock shows `at`; undefined for a manual clock. */
  until(at: number): number | undefined;
  /** Calls `run` once when this clock shows `at`, and never synchronously. Returns the function that cancels it. */
  alarm(at: number, run: () => void): () => void;
  /** Like `alarm`, but after `ms` of this clock. Setting the machine's clock does not change that time. */
  alarmAfter(ms: number, run: () => void): () => void;
  /** When the next alarm is due; undefined without one. */
  nextAlarm(): number | undefined;
  /** Sets a manual clock forward. Throws for the other modes, and for an earlier time. */
  moveTo(at: number): void;
  /** Stops the clock at the current instant and makes it a manual clock. */
  freeze(): void;
  /** Whether a freeze stopped this clock, so that it can go on. */
  readonly isFrozen: boolean;
  /** Lets a frozen clock run on as before. If it was moved beyond the machine's time, it continues from there. */
  goOn(): void;
  /** From now on, `real` does not jump when the machine's clock is set: each reading calls `run`, until `shift`. */
  whenSet(run: () => void): void;
  /** From now on, the clock `real` shows this time instead of the machine's. */
  follow(time: () => number): void;
  /** How far the machine's clock was set, in milliseconds; negative if it was set back, 0 if it was not set. */
  setBy(): number;
  /** Moves the clock `real` by `ms`, to where the machine's clock was set. */
  shift(ms: number): void;
}

/** Makes the clock for the option `clock` or `--clock`: `real`, `manual`, `manual@2026-01-01T00:00:00Z`, `60x`. */
export function createClock(setting: string, notBefore = 0): Clock {
  if (setting === "real") return clockOf({ mode: "real", at: notBefore, speed: 1 });
  const scale = /^(\d{1,6}(?:\.\d{1,3})?)x$/.exec(setting);
  if (scale && Number(scale[1]) > 0)
    return clockOf({ mode: "scaled", at: Math.max(systemNow(), notBefore), speed: Number(scale[1]) });
  // A stored clock continues where it stopped. Only in a new database does plain `manual` start at the present.
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

/** Milliseconds of an ISO 8601 instant with date, time, zone and a year of four digits; undefined otherwise. */
export function parseInstant(text: string): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const at = Date.parse(text);
  if (!parts || Number.isNaN(at) || at < earliestInstant || at > latestInstant) return undefined;
  // Date.parse turns 30 February into 2 March, so the parsed date is compared with the input.
  return new Date(`${parts[1]}T00:00:00Z`).toISOString().startsWith(parts[1] ?? "?") ? at : undefined;
}

const maxTexts = 255;
const latest = { at: new Float64Array(maxTexts).fill(Number.NaN), text: new Array<string>(maxTexts).fill("") };

/** ISO 8601 in UTC with milliseconds, the form of every datetime. Keeps the latest, which lists and bursts repeat. */
export function isoOf(at: number): string {
  const slot = Math.abs(at | 0) % maxTexts;
  if (latest.at[slot] !== at) {
    latest.text[slot] = new Date(at).toISOString();
    latest.at[slot] = at;
  }
  return latest.text[slot] ?? "";
}

const earliestInstant = Date.parse("0000-01-01T00:00:00Z");
/** The latest instant with a year of four digits. */
export const latestInstant = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** In the mode `real`, the clock never shows a time before `at`. A frozen clock keeps its former mode and speed. */
interface ClockState {
  readonly mode: Clock["mode"];
  readonly frozen?: Clock["mode"] | undefined;
  readonly at: number;
  readonly speed: number;
}

function clockOf(state: ClockState): Clock {
  let { mode, at, speed, frozen } = state;
  let since = monotonicNow();
  let time = systemNow;
  let machine = createMachineTime(at, time);
  let whenSet = () => machine.shift(machine.setBy());
  const now = () => {
    if (mode === "real") return machine.now(whenSet);
    return mode === "manual" ? at : Math.floor(at + (monotonicNow() - since) * speed);
  };
  const until = (to: number) => (mode === "manual" ? undefined : Math.max(0, Math.ceil((to - now()) / speed)));
  const alarms = createAlarms({ now, until });
  const load = (saved: ClockState) => {
    ({ mode, at, speed, frozen } = saved);
    since = monotonicNow();
    machine = createMachineTime(at, time);
    alarms.clockMoved();
  };
  return {
    get mode() {
      return mode;
    },
    get isFrozen() {
      return frozen !== undefined;
    },
    get speed() {
      return mode === "manual" ? 0 : speed;
    },
    now,
    iso: () => isoOf(now()),
    until,
    alarm: (at, run) => alarms.add({ at, run, follows: false }),
    alarmAfter: (ms, run) => alarms.add({ at: now() + ms, run, follows: true }),
    nextAlarm: alarms.next,
    moveTo(to) {
      if (mode !== "manual")
        throw new Error('this clock runs by itself; create the service with clock: "manual" to move it');
      if (to < at) throw new Error(`the clock stands at ${isoOf(at)} and never goes back to ${isoOf(to)}`);
      at = to;
      alarms.clockMoved();
    },
    freeze() {
      if (mode === "manual") return;
      at = now();
      frozen = mode;
      mode = "manual";
    },
    goOn() {
      const isAhead = frozen === "real" && at > time() + tolerance_ms;
      if (frozen) load({ mode: isAhead ? "scaled" : frozen, at, speed });
    },
    whenSet(run) {
      whenSet = run;
    },
    follow(given) {
      time = given;
      machine = createMachineTime(at, time);
    },
    setBy: () => (mode === "real" ? machine.setBy() : 0),
    shift(ms) {
      machine.shift(ms);
      alarms.clockMoved(ms);
    },
    save: (): ClockState => ({ mode, at: now(), speed, frozen }),
    load: (saved) => load(saved as ClockState),
  };
}

/** A greater difference means that the machine's clock was set. The clock follows smaller ones. */
const tolerance_ms = 1_000;

/** The machine's time, which never goes back. If the machine's clock is set, it does not jump until `shift`. */
function createMachineTime(notBefore: number, time: () => number) {
  let latest = Math.max(time(), notBefore);
  /** The time shown minus monotonic time. */
  let offset = latest - monotonicNow();
  return {
    now(whenSet: () => void): number {
      const machine = time();
      const by = machine - (offset + monotonicNow());
      if (by > tolerance_ms || by < -tolerance_ms) {
        latest = Math.max(latest, Math.floor(machine - by));
        whenSet();
        return latest;
      }
      // Otherwise small differences would add up.
      offset += by;
      if (machine > latest) latest = machine;
      return latest;
    },
    setBy(): number {
      const by = Math.round(time() - (offset + monotonicNow()));
      return Math.abs(by) > tolerance_ms ? by : 0;
    },
    shift(ms: number): void {
      offset += ms;
      latest = Math.floor(offset + monotonicNow());
    },
  };
}

interface Alarm {
  at: number;
  readonly run: () => void;
  /** Whether its due time shifts when the clock follows the machine's. */
  readonly follows: boolean;
  cancel: () => void;
}

/** The alarms of a clock, as system timers if the clock runs by itself. Call `clockMoved` after moving the clock. */
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
    add(wanted: Omit<Alarm, "cancel">) {
      const alarm: Alarm = { ...wanted, cancel: () => {} };
      all.add(alarm);
      arm(alarm);
      return () => {
        alarm.cancel();
        all.delete(alarm);
      };
    },
    next: () => [...all].reduce<number | undefined>((at, alarm) => Math.min(alarm.at, at ?? alarm.at), undefined),
    clockMoved(shifted_ms = 0) {
      for (const alarm of all) if (alarm.follows) alarm.at += shifted_ms;
      const due = [...all].filter(({ at }) => at <= now()).sort((a, b) => a.at - b.at);
      for (const alarm of due) fire(alarm);
      for (const alarm of all) arm(alarm);
    },
  };
}

/** A timer in system time, for flushing and shutting down. It keeps the process alive only with `hold`. */
export function systemTimer(wait: string | number, run: () => void, { hold = false } = {}): () => void {
  // setTimeout fires at once beyond 24.8 days. So a timer waits at most a minute, and callers set it again.
  const timer = setTimeout(run, Math.min(typeof wait === "string" ? milliseconds(wait) : wait, 60_000));
  if (!hold) timer.unref();
  return () => clearTimeout(timer);
}
