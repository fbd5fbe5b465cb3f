import * as v from "valibot";
import { type Clock, systemTimer } from "../../kernel/clock.ts";
import { notFound, type ProblemCode, problems } from "../../kernel/errors.ts";
import { field } from "../../kernel/field.ts";
import { milliseconds, parseDuration } from "../../kernel/text/duration.ts";
import { matchesGlob } from "../../kernel/text/glob.ts";
import { check, durationText, oneOf, record, textLike, textOf, wholeNumber } from "../../kernel/validation.ts";

const longest = "60s";
const delay = v.pipe(
  durationText(),
  v.check((text) => (parseDuration(text) ?? 0) <= milliseconds(longest), `must be at most ${longest}`),
);
/** Headers that only the service sets: they frame the response or identify its request. */
const framing = /^(content-length|transfer-encoding|connection|x-request-id)$/;
const headerName = v.pipe(
  textLike(256, /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be the name of a header"),
  v.toLowerCase(),
  v.check((name) => !framing.test(name), "must not be a header that frames the answer, nor x-request-id"),
);
const headerValue = textLike(8192, /^[\t\x20-\x7e\x80-\xff]*$/, "must be the value of a header");
const yes = v.literal(true, "must be true");

/** These descriptions become the table of fields in schema/testing.md. */
export const faultFields = record({
  status: v.optional(
    field(wholeNumber(400, 599), "The status of the error, 400 to 599; by default the usual one of `code`, or 500."),
  ),
  code: v.optional(
    field(
      textLike(64, /^[a-z][a-z0-9_]*$/, "must be a code in small letters such as unavailable"),
      "The code of the error, of the interface or any other; by default the first one with that `status`.",
    ),
  ),
  headers: v.optional(
    field(
      v.record(headerName, headerValue, "must be an object"),
      "Headers of the answer, such as `retry-after`. Alone, they are added to the usual answer.",
    ),
  ),
  delay: v.optional(
    field(
      delay,
      "How long the answer waits, at most `60s`, on the clock of the service. Alone, the usual answer follows.",
    ),
  ),
  drop: v.optional(
    field(yes, "`true`: the connection breaks before any work, without an answer. Only `delay` goes with it."),
  ),
  truncate: v.optional(field(yes, "`true`: the work is done, and the connection breaks in the middle of the answer.")),
});

const respond = v.pipe(
  faultFields,
  v.check(
    (given) => Object.values(given).some((value) => value !== undefined),
    "must have an effect: status, code, headers, delay, drop or truncate",
  ),
  v.forward(
    v.check(
      ({ drop, delay: _, ...more }) => drop === undefined || Object.keys(more).length === 0,
      "sends no answer, so only delay can be combined with it",
    ),
    ["drop"],
  ),
);

export const newFault = record({
  match: v.optional(
    record({
      method: v.optional(oneOf(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])),
      /** A glob for the whole path, without the query. */
      path: v.optional(
        v.pipe(
          textOf(1, 1000),
          v.check((glob) => /^(\/v1|\*|\/\*)/.test(glob), "must begin with /v1: faults apply to the interface only"),
        ),
      ),
    }),
    {},
  ),
  respond,
  /** The number of the first request affected, counted from 1. With it, `times` is 1 by default. */
  nth: v.optional(wholeNumber(1, 1_000_000)),
  times: v.optional(wholeNumber(1, 1_000_000)),
});
export type NewFault = v.InferInput<typeof newFault>;

export interface StoredFault {
  readonly id: string;
  readonly match: { readonly method?: string | undefined; readonly path?: string | undefined };
  readonly respond: v.InferOutput<typeof respond>;
  readonly nth: number | null;
  /** The number of requests to affect; null for all. */
  readonly times: number | null;
  /** The number of requests affected so far. */
  readonly used: number;
}
interface CountedFault extends StoredFault {
  /** The number of requests that matched, including those before the nth. */
  readonly seen: number;
  readonly number: number;
}

interface Saved {
  readonly faults: readonly CountedFault[];
  readonly added: number;
}

const view = ({ seen: _, number: __, ...fault }: CountedFault): StoredFault => fault;

/** The first code with this status in the table of problems. */
const codeFor = (status: number): string =>
  Object.entries(problems).find(([, problem]) => problem.status === status)?.[0] ?? "fault";

/** The headers that the API sends with these statuses. */
const usualHeaders: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { "www-authenticate": "Bearer" },
  429: { "retry-after": "1" },
  503: { "retry-after": "1" },
};
const isKnown = (code: string): code is ProblemCode => Object.hasOwn(problems, code);

/** The error of a fault; undefined if it names neither a status nor a code. */
function errorOf({ status, code }: StoredFault["respond"]): Fault["error"] {
  if (status === undefined && code === undefined) return undefined;
  const number = status ?? (code !== undefined && isKnown(code) ? problems[code].status : 500);
  return { status: number, code: code ?? codeFor(number), message: "this fault was set by a tester" };
}

/** The effect of a fault on one request. */
export interface Fault {
  /** Resolves when the request may continue, or when `signal` aborts because the client disconnected. */
  wait(signal: AbortSignal): Promise<void>;
  /** Sent instead of the usual response. Undefined if the service does its work and responds. */
  readonly error: { readonly status: number; readonly code: string; readonly message: string } | undefined;
  /** Override the headers of any response. */
  readonly headers: Readonly<Record<string, string>>;
  /** `drop`: the connection breaks before any work. `truncate`: it breaks in the middle of the response body. */
  readonly breaks: "drop" | "truncate" | undefined;
}

export type Faults = ReturnType<typeof createFaults>;

/** A tester's faults of the API. The first matching fault applies. */
export function createFaults({ clock, closing }: { clock: Clock; closing: AbortSignal }) {
  let faults: readonly CountedFault[] = [];
  /** The number of faults ever added, so that no identifier repeats. */
  let added = 0;
  /** How many of them came with a snapshot. */
  let inherited = 0;

  /** Ends as soon as either clock has passed `ms`: clients time out by the machine's, testers advance the service's. */
  const pause = (ms: number) => (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const undo: (() => void)[] = [];
      const end = () => {
        for (const run of undo) run();
        resolve();
      };
      for (const cancelled of [signal, closing]) {
        if (cancelled.aborted) return resolve();
        cancelled.addEventListener("abort", end);
        undo.push(() => cancelled.removeEventListener("abort", end));
      }
      undo.push(clock.alarmAfter(ms, end), systemTimer(ms, end, { hold: true }));
    });

  const use = (before: CountedFault): boolean => {
    const seen = before.seen + 1;
    const isMet = seen >= (before.nth ?? 1) && (before.times === null || before.used < before.times);
    const after = { ...before, seen, used: before.used + (isMet ? 1 : 0) };
    faults = faults.map((fault) => (fault === before ? after : fault));
    return isMet;
  };

  return {
    isEmpty: () => faults.length === 0,

    /** The fault that applies to a request, counted as used; undefined for nearly all requests. */
    meet({ method, path }: { readonly method: string; readonly path: string }): Fault | undefined {
      const isMatch = ({ match }: CountedFault) =>
        (match.method ?? method) === method && (match.path === undefined || matchesGlob(match.path, path));
      const met = faults.filter(isMatch).find(use);
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
    /** Throws a 422 for an invalid fault. */
    add(given: NewFault): StoredFault {
      const { match, respond, nth = null, times = nth === null ? null : 1 } = check(newFault, given);
      added += 1;
      const fault = { id: `fault_${added}`, number: added, match, respond, nth, times, used: 0, seen: 0 };
      faults = [...faults, fault];
      return view(fault);
    },
    list: (): StoredFault[] => faults.map(view),
    /** The faults that no request has met; with `own`, without those of a fork's parent. */
    unused: (own = false): StoredFault[] =>
      faults.filter(({ used, number }) => used === 0 && !(own && number <= inherited)).map(view),
    /** Throws a 404 for an unknown fault. */
    remove(id: string): void {
      const left = faults.filter((fault) => fault.id !== id);
      if (left.length === faults.length) throw notFound("fault");
      faults = left;
    },
    clear(): void {
      faults = [];
    },
    save: (): unknown => ({ faults, added }) satisfies Saved,
    load(state: unknown): void {
      ({ faults, added } = state as Saved);
      inherited = added;
    },
  };
}
