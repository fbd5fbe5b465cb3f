import { milliseconds } from "./duration.ts";

/**
 * The one source of time. Everything that waits asks this clock: lifecycles, retries, leases, invitations, rate
 * windows, periodic work. Only this module, `ids`, `random` and `jobs/loop` may touch the machine's own time.
 */
export interface Clock {
  readonly mode: "real" | "manual" | "scaled";
  /** Milliseconds since 1970, by this clock. */
  now(): number;
  /** The same instant as ISO 8601 in UTC with milliseconds. */
  iso(): string;
  /** Real milliseconds until this clock shows `at`; undefined where it stands until it is moved. */
  until(at: number): number | undefined;
  /** Sets a standing clock forward. Throws for the other modes and for a step back. */
  moveTo(at: number): void;
}

/** What `clock` options and `--clock` take: `real`, `manual`, `manual@2026-01-01T00:00:00Z`, `60x`. */
export function createClock(setting: string, notBefore = 0): Clock {
  if (setting === "real") return realClock();
  const scale = /^(\d{1,6}(?:\.\d{1,3})?)x$/.exec(setting);
  if (scale && Number(scale[1]) > 0) return scaledClock(Number(scale[1]), notBefore);
  // A kept clock goes on where it stood: bare `manual` means the present only where there is nothing to go on from.
  const at = setting === "manual" ? notBefore || Date.now() : instant(/^manual@(.+)$/.exec(setting)?.[1] ?? "");
  if (at === undefined) {
    throw new Error(`clock must be real, manual, manual@2026-01-01T00:00:00Z or a speed such as 60x, not "${setting}"`);
  }
  if (at < 0) throw new Error(`clock must not begin before 1970, which no identifier can bear, not "${setting}"`);
  return manualClock(Math.max(at, notBefore));
}

/** Milliseconds of an ISO 8601 instant with a date, a time and a zone, of a year of four digits; undefined for anything else. */
export function instant(text: string): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const at = Date.parse(text);
  if (!parts || Number.isNaN(at) || at < earliest || at > latest) return undefined;
  // Date.parse turns 30 February into 2 March; a date that does not exist must not pass.
  return new Date(`${parts[1]}T00:00:00Z`).toISOString().startsWith(parts[1] ?? "?") ? at : undefined;
}

/** ISO 8601 in UTC with milliseconds, as every datetime of the interface is written. */
export const isoOf = (at: number): string => new Date(at).toISOString();

const earliest = Date.parse("0000-01-01T00:00:00Z");
/** The latest instant that an ISO datetime with four digits of year can name. */
export const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Remembers the last text, because a busy service asks many times within one millisecond. */
function written(now: () => number): () => string {
  let last = Number.NaN;
  let text = "";
  return () => {
    const at = now();
    if (at !== last) {
      last = at;
      text = isoOf(at);
    }
    return text;
  };
}

const standing = (): never => {
  throw new Error('this clock runs by itself; create the service with clock: "manual" to move it');
};

function realClock(): Clock {
  const now = () => Date.now();
  return {
    mode: "real",
    now,
    iso: written(now),
    until: (at) => Math.max(0, at - now()),
    moveTo: standing,
  };
}

function scaledClock(factor: number, notBefore: number): Clock {
  const start = Date.now();
  const base = Math.max(start, notBefore);
  const now = () => Math.floor(base + (Date.now() - start) * factor);
  const until = (at: number) => Math.max(0, Math.ceil((at - now()) / factor));
  return { mode: "scaled", now, iso: written(now), until, moveTo: standing };
}

function manualClock(start: number): Clock {
  let at = start;
  const now = () => at;
  return {
    mode: "manual",
    now,
    iso: written(now),
    until: () => undefined,
    moveTo(to) {
      if (to < at) throw new Error(`the clock stands at ${isoOf(at)} and never goes back to ${isoOf(to)}`);
      at = to;
    },
  };
}

/** A timer of the machine, not of the service: for flushing and shutting down. Only `hold` keeps the process alive. */
export function machineTimer(wait: string | number, run: () => void, { hold = false } = {}): () => void {
  // setTimeout fires at once beyond 24.8 days, so no wait is longer than a minute; who needs more asks again.
  const timer = setTimeout(run, Math.min(typeof wait === "string" ? milliseconds(wait) : wait, 60_000));
  if (!hold) timer.unref();
  return () => clearTimeout(timer);
}
