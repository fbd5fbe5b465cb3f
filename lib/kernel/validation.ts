import * as v from "valibot";
import { parseInstant } from "./clock.ts";
import { type Detail, invalid, invalidAll } from "./errors.ts";
import { field } from "./field.ts";
import { parseDuration } from "./text/duration.ts";
import { isObject } from "./text/json.ts";
import { type Networks, noNetworks } from "./trusted-networks.ts";

/** The schemas and rules that the wire schemas of all features share. */

/** Documents a rule written in code, as JSON Schema keywords or an equivalent schema. */
export const documentedAs = <T>(as: object) => v.metadata<T, { readonly documentedAs: object }>({ documentedAs: as });

// PostgreSQL refuses U+0000, and both engines would alter lone surrogates.
const isStorable = (text: string) => text.isWellFormed() && !text.includes("\u0000");
const unstorable = "must not contain U+0000 or lone surrogates";

/** Any text that a database stores and returns unchanged. */
export const text = () => v.pipe(v.string("must be a string"), v.check(isStorable, unstorable));

/** Whether a text has `least` to `most` code points. Does not count those of a text that is far too long. */
function hasLength(text: string, least: number, most: number): boolean {
  const count = text.length > 2 * most ? Number.POSITIVE_INFINITY : [...text].length;
  return count >= least && count <= most;
}

/** Text with a length in code points; `trim` removes surrounding white space first. */
export function textOf(least: number, most: number, { trim = false } = {}) {
  const message = least > 0 ? `must have ${least} to ${most} characters` : `must have at most ${most} characters`;
  const length = [
    v.check(isStorable, unstorable),
    v.check((value: string) => hasLength(value, least, most), message),
    documentedAs<string>({ minLength: least, maxLength: most }),
  ] as const;
  return v.pipe(v.string("must be a string"), trim ? v.trim() : v.check(() => true), ...length);
}

/** Text that matches a pattern, with at most `most` characters. */
export const textLike = (most: number, pattern: RegExp, message: string) =>
  v.pipe(
    v.string("must be a string"),
    v.check((value) => value.length <= most && pattern.test(value) && isStorable(value), message),
    documentedAs({ maxLength: most, pattern: pattern.source }),
  );

/** One of a fixed list of words. */
export const oneOf = <const T extends readonly string[]>(words: T) =>
  v.picklist(words, `must be ${words.length > 1 ? `${words.slice(0, -1).join(", ")} or ${words.at(-1)}` : words[0]}`);

/** A whole number within bounds. */
export function wholeNumber(least: number, most: number) {
  const rule = `must be a whole number from ${least} to ${most}`;
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule));
}

/** A count in a query string: only digits, within bounds. */
export function queryCount(least: number, most: number) {
  const message = `must be a whole number from ${least} to ${most}`;
  return v.pipe(
    v.string(message),
    v.check((value) => /^\d{1,9}$/.test(value) && Number(value) >= least && Number(value) <= most, message),
    documentedAs({ type: "integer", minimum: least, maximum: most }),
    v.transform(Number),
  );
}

/** A switch in a query string: `true` or `false`. */
export const querySwitch = () =>
  v.pipe(
    v.string("must be true or false"),
    v.check((value) => value === "true" || value === "false", "must be true or false"),
    documentedAs({ type: "boolean" }),
    v.transform((value) => value === "true"),
  );

/** What `input type=email` of HTML takes, with `xn--` labels for names beyond ASCII. */
export const email = () =>
  v.pipe(
    v.string("must be a string"),
    v.maxLength(254, "must have at most 254 characters"),
    v.rfcEmail("must be an e-mail address such as ada@example.com"),
  );

/** In results: an instant in ISO 8601, UTC, with milliseconds. */
export const datetime = () => v.pipe(v.string(), v.isoTimestamp());
export const id = (prefix: string) => v.pipe(v.string(), v.regex(new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`)));

const parsedBy = (parse: (text: string) => unknown, message: string) =>
  v.pipe(
    v.string("must be a string"),
    v.check((value) => parse(value) !== undefined, message),
  );
/** A duration such as `"2h"` or `"2h42m30s"`. */
export const durationText = () => parsedBy(parseDuration, 'must be a duration such as "2h" or "2h42m30s"');
export const instantText = () => parsedBy(parseInstant, "must be an instant such as 2026-01-01T00:00:00Z");

const cursor = textLike(256, /^[\w-]+\.[\w-]{12}$/, "must be a next_cursor from this list, with the same filters");

/** `per_page` and `cursor` of a list: 20 items by default, 100 at most (schema/http.md#paging). */
export const paging = (most = 100) => ({
  per_page: v.optional(field(queryCount(1, most), "The number of items on a page, 20 by default.")),
  cursor: v.optional(field(cursor, "The `next_cursor` of the previous page. Without it, the first page.")),
});

/** The query of a list without filters. */
export const pageQuery = v.object(paging());

/** An object without unknown fields: a misspelt field is refused with the list of known names. */
export const record = <const E extends v.ObjectEntries>(entries: E) => {
  const names = Object.keys(entries);
  return v.strictObject(
    entries,
    `is an unknown field; ${names.length > 0 ? `the fields are ${names.join(", ")}` : "there are no fields here"}`,
  );
};
/** An entry of a log: of a deployment, or of a live app. */
export const logEntry = v.object({
  timestamp: field(datetime(), "When the line was written."),
  level: field(v.picklist(["info", "warn", "error"]), "How serious the entry is."),
  message: field(v.string(), "One line of text, without secrets."),
});
export const logsQuery = v.object({
  ...paging(),
  per_page: v.optional(
    field(queryCount(1, 1000), "The number of entries on a page. Without it and without `cursor`, all entries."),
  ),
  follow: v.optional(
    field(querySwitch(), "`true` streams the entries as Server-Sent Events until the log ends; `false` by default."),
  ),
});
export type LogsQuery = v.InferOutput<typeof logsQuery>;

/** The query of a record of work: `wait` for its end, up to that many seconds. */
export const awaitable = v.object({
  wait: v.optional(
    field(queryCount(0, 60), "Seconds to hold the request until the work ends. Without it, the answer comes at once."),
  ),
});

export type Schema = v.GenericSchema;

/** The most broken rules in one answer, because a small body can break very many. */
const maxDetails = 1_000;

/** Options of a service that change its schemas. */
export interface Rules {
  /** The networks to which plain http is allowed. */
  readonly trusted: Networks;
}

let inForce: Rules = { trusted: noNetworks };

/** The rules of the check that is running. Validation is synchronous, so schemas can read this variable. */
export const rulesInForce = (): Rules => inForce;

/** Runs a check with the rules of a service. */
export function underRules<T>(rules: Rules, run: () => T): T {
  const outer = inForce;
  inForce = rules;
  try {
    return run();
  } finally {
    inForce = outer;
  }
}

/** The rules that an input breaks, for callers that do not throw a 422. */
export function brokenRules(schema: Schema, input: unknown, rules: Rules): Detail[] {
  return underRules(rules, () => v.safeParse(schema, input)).issues?.map(detailOf) ?? [];
}

/** Parses external input, or throws a 422 that lists the broken rules, up to a thousand, and their total number. */
export function check<S extends Schema>(schema: S, input: unknown, rules = inForce): v.InferOutput<S> {
  const result = underRules(rules, () => v.safeParse(schema, input));
  if (result.success) return result.output;
  throw invalidAll(result.issues.slice(0, maxDetails).map(detailOf), result.issues.length);
}

/** Like `check`, for an argument of a library function. If the argument is not an object, the error shows `example`. */
export function checkArgument<S extends Schema>(
  schema: S,
  name: string,
  given: unknown,
  example: string,
): v.InferOutput<S> {
  if (!isObject(given)) throw invalid(name, `must be an object such as ${example}`);
  return check(schema, given);
}

/** Refuses arguments to a library function that takes none. `instead` names the function that was probably meant. */
export function refuseArguments(name: string, given: readonly unknown[], instead: string): void {
  if (given.length > 0) throw invalid(name, `takes no arguments; ${instead}`);
}

/** For functions that may be test hooks, as in `afterEach(service.reset)`: runners pass a context to hooks. */
export function refuseArgumentsButContext(name: string, given: readonly unknown[], instead: string): void {
  const isContext = (one: unknown) =>
    typeof one === "function" || (typeof one === "object" && one !== null && ("name" in one || "task" in one));
  refuseArguments(
    name,
    given.filter((one) => one !== undefined && !isContext(one)),
    instead,
  );
}

/** Whether the issue is an unknown field. */
export const isUnknown = (issue: v.BaseIssue<unknown>) => issue.type === "strict_object" && issue.expected === "never";

/** Describes a broken rule to callers. */
export function detailOf(issue: v.BaseIssue<unknown>): Detail {
  const path = v.getDotPath(issue) ?? "body";
  if (issue.input === undefined && issue.kind === "schema") return { path, message: "is required" };
  const expected: Record<string, string> = {
    object: "must be an object",
    strict_object: "must be an object",
    Object: "must be an object",
    Array: "must be a list",
  };
  if (isUnknown(issue)) return { path, message: issue.message.startsWith("Invalid") ? "is unknown" : issue.message };
  const message =
    expected[issue.expected ?? ""] ??
    (issue.message.startsWith("Invalid") ? `must be ${issue.expected}` : issue.message);
  return { path, message };
}
