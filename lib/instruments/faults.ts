import * as v from "valibot";
import type { Fault, Faults } from "../http/fault.ts";
import { type Clock, systemTimer } from "../kernel/clock.ts";
import { milliseconds, parseDuration } from "../kernel/duration.ts";
import { type ProblemCode, problems } from "../kernel/errors.ts";
import { matchesGlob } from "../kernel/glob.ts";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { check, durationText, oneOf, record, textLike, textOf, wholeNumber } from "../kernel/validation.ts";

const longest = "60s";
const delay = v.pipe(
  durationText(),
  v.check((text) => (parseDuration(text) ?? 0) <= milliseconds(longest), `must be at most ${longest}`),
);
/** What frames an answer, and what ties it to its body, stays the service's. */
const framing = /^(content-length|transfer-encoding|connection|x-request-id)$/;
const headerName = v.pipe(
  textLike(256, /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be the name of a header"),
  v.toLowerCase(),
  v.check((name) => !framing.test(name), "must not be one that frames the answer, nor x-request-id"),
);
const headerValue = textLike(8192, /^[\t\x20-\x7e\x80-\xff]*$/, "must be the value of a header");
const yes = v.literal(true, "must be true");

const respond = v.pipe(
  record({
    status: v.optional(wholeNumber(400, 599)),
    /** One of the interface's codes, or another. */
    code: v.optional(textLike(64, /^[a-z][a-z0-9_]*$/, "must be a code in small letters such as unavailable")),
    headers: v.optional(v.record(headerName, headerValue, "must be an object")),
    delay: v.optional(delay),
    /** Nothing is done, and the connection breaks. */
    drop: v.optional(yes),
    /** The work is done, and the connection breaks in the middle of its answer. */
    truncate: v.optional(yes),
  }),
  v.check(
    (given) => Object.values(given).some((value) => value !== undefined),
    "must say what happens: status, code, headers, delay, drop or truncate",
  ),
  v.forward(
    v.check(
      ({ drop, delay: _, ...more }) => drop === undefined || Object.keys(more).length === 0,
      "answers nothing, so only a delay goes with it",
    ),
    ["drop"],
  ),
);

export const newFault = record({
  match: v.optional(
    record({
      method: v.optional(oneOf(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])),
      /** A glob over the whole path, without its query. */
      path: v.optional(
        v.pipe(
          textOf(1, 1000),
          v.check((glob) => /^(\/v1|\*|\/\*)/.test(glob), "must begin with /v1: only the interface has faults"),
        ),
      ),
    }),
    {},
  ),
  respond,
  /** The first call that meets it, counted from 1; then `times` is 1, where it is not set. */
  nth: v.optional(wholeNumber(1, 1_000_000)),
  times: v.optional(wholeNumber(1, 1_000_000)),
});
export type NewFault = v.InferInput<typeof newFault>;

/** A fault as it is kept. */
export interface StoredFault {
  readonly match: { readonly method?: string | undefined; readonly path?: string | undefined };
  readonly respond: v.InferOutput<typeof respond>;
  readonly nth: number | null;
  /** How many calls meet it; null for all. */
  readonly times: number | null;
  /** How many did. */
  readonly used: number;
}
interface Kept extends StoredFault {
  /** How many calls fitted, with those before the nth. */
  readonly seen: number;
}

const view = ({ seen: _, ...fault }: Kept): StoredFault => fault;

/** The first code that the table has for a status. */
const codeFor = (status: number): string =>
  Object.entries(problems).find(([, problem]) => problem.status === status)?.[0] ?? "fault";

/** What the interface itself sends with such a status. */
const usualHeaders: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { "www-authenticate": "Bearer" },
  429: { "retry-after": "1" },
  503: { "retry-after": "1" },
};
const isKnown = (code: string): code is ProblemCode => Object.hasOwn(problems, code);

/** The error of a fault that names a status, a code, or both. */
function errorOf({ status, code }: StoredFault["respond"]): Fault["error"] {
  if (status === undefined && code === undefined) return undefined;
  const number = status ?? (code !== undefined && isKnown(code) ? problems[code].status : 500);
  return { status: number, code: code ?? codeFor(number), message: "a tester asked for this fault" };
}

export interface FaultsDesk extends Snapshotable {
  readonly meet: Faults;
  /** Throws a 422 for a fault that is wrong. */
  add(given: NewFault): StoredFault;
  list(): StoredFault[];
  clear(): void;
}

/** Faults of the interface itself, asked for by a tester. CONTRACT section 8. The first that fits is met. */
export function createFaults({ clock, closing }: { clock: Clock; closing: AbortSignal }): FaultsDesk {
  let faults: readonly Kept[] = [];

  /** Whichever clock shows it first: a client's patience is of the machine's time, a tester's of the service's. */
  const pause = (ms: number) => (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const undo: (() => void)[] = [];
      const end = () => {
        for (const one of undo) one();
        resolve();
      };
      for (const left of [signal, closing]) {
        if (left.aborted) return resolve();
        left.addEventListener("abort", end);
        undo.push(() => left.removeEventListener("abort", end));
      }
      undo.push(clock.alarm(clock.now() + ms, end), systemTimer(ms, end, { hold: true }));
    });

  const use = (before: Kept): boolean => {
    const seen = before.seen + 1;
    const isMet = seen >= (before.nth ?? 1) && (before.times === null || before.used < before.times);
    const after = { ...before, seen, used: before.used + (isMet ? 1 : 0) };
    faults = faults.map((one) => (one === before ? after : one));
    return isMet;
  };

  return {
    meet({ method, path }) {
      if (faults.length === 0) return undefined;
      const fits = ({ match }: Kept) =>
        (match.method ?? method) === method && (match.path === undefined || matchesGlob(match.path, path));
      const met = faults.filter(fits).find(use);
      if (!met) return undefined;
      const { delay, drop, truncate, headers } = met.respond;
      const error = errorOf(met.respond);
      return {
        wait: delay === undefined ? async () => {} : pause(milliseconds(delay)),
        error,
        headers: { ...usualHeaders[error?.status ?? 0], ...headers },
        breaks: drop ? "drop" : truncate ? "truncate" : undefined,
      };
    },
    add(given) {
      const { match, respond, nth = null, times = nth === null ? null : 1 } = check(newFault, given);
      const fault = { match, respond, nth, times, used: 0, seen: 0 };
      faults = [...faults, fault];
      return view(fault);
    },
    list: () => faults.map(view),
    clear() {
      faults = [];
    },
    save: () => faults,
    load(kept) {
      faults = kept as readonly Kept[];
    },
  };
}
