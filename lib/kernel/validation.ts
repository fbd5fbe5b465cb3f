import * as v from "valibot";
import { parseInstant } from "./clock.ts";
import { parseDuration } from "./duration.ts";
import { type Detail, invalid, Problem } from "./errors.ts";

/** The schemas and rules that every feature's wire form is made of. */

/**
 * What a rule that is code means, for the documents that are made from the schemas: keywords of JSON Schema, or a schema
 * that says the same. It changes nothing of what is accepted.
 */
export const documentedAs = <T>(as: object) => v.metadata<T, { readonly documentedAs: object }>({ documentedAs: as });

// PostgreSQL refuses U+0000 and both stores would change lone surrogates: neither gets in.
const clean = (text: string) => text.isWellFormed() && !text.includes("\u0000");
const dirty = "must not contain U+0000 or lone surrogates";

/** Any text that can be stored and given back as it is. */
export const text = () => v.pipe(v.string("must be a string"), v.check(clean, dirty));

/** Text of a length in code points, trimmed first where `trim` is set. */
export function textOf(least: number, most: number, { trim = false } = {}) {
  const message = least > 0 ? `must have ${least} to ${most} characters` : `must have at most ${most} characters`;
  const length = [v.check(clean, dirty), v.minCodePoints(least, message), v.maxCodePoints(most, message)] as const;
  return v.pipe(v.string("must be a string"), trim ? v.trim() : v.check(() => true), ...length);
}

/** Text of a pattern, after its length is known to be small. */
export const textLike = (most: number, pattern: RegExp, message: string) =>
  v.pipe(
    v.string("must be a string"),
    v.check((value) => value.length <= most && pattern.test(value), message),
    documentedAs({ maxLength: most, pattern: pattern.source }),
  );

/** One of a closed list of words. */
export const oneOf = <const T extends readonly string[]>(words: T) =>
  v.picklist(words, `must be ${words.length > 1 ? `${words.slice(0, -1).join(", ")} or ${words.at(-1)}` : words[0]}`);

/** A whole number within bounds. */
export function wholeNumber(least: number, most: number) {
  const rule = `must be a whole number from ${least} to ${most}`;
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule));
}

/** A count in a query string: digits and nothing else, within bounds. */
export function queryCount(least: number, most: number) {
  const message = `must be a whole number from ${least} to ${most}`;
  return v.pipe(
    v.string(message),
    v.check((value) => /^\d{1,9}$/.test(value) && Number(value) >= least && Number(value) <= most, message),
    documentedAs({ type: "integer", minimum: least, maximum: most }),
    v.transform(Number),
  );
}

export const email = () =>
  v.pipe(
    v.string("must be a string"),
    v.maxLength(254, "must have at most 254 characters"),
    v.email("must be an e-mail address such as ada@example.com"),
  );

/** Answers: an instant in ISO 8601, UTC, with milliseconds. */
export const datetime = () => v.pipe(v.string(), v.isoTimestamp());
export const id = (prefix: string) => v.pipe(v.string(), v.regex(new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`)));

/** Text that parses as a duration of the program's own form. */
export const durationText = () =>
  v.pipe(
    v.string("must be a string"),
    v.check((value) => parseDuration(value) !== undefined, 'must be a duration such as "2h" or "2h42m30s"'),
  );
export const instantText = () =>
  v.pipe(
    v.string("must be a string"),
    v.check((value) => parseInstant(value) !== undefined, "must be an instant such as 2026-01-01T00:00:00Z"),
  );

/** The parameters of a path that names one record. */
export const byId = v.object({ id: v.string() });

const cursor = textLike(256, /^[\w-]+\.[\w-]{12}$/, "must be a next_cursor that this list gave, with the same filters");

/** `per_page` and `cursor` of a list. SPEC "Limits": default 20, maximum 100. */
export const paging = (most = 100) => ({
  per_page: v.optional(v.pipe(queryCount(1, most), v.description("How many items a page holds."))),
  cursor: v.optional(v.pipe(cursor, v.description("The `next_cursor` of the page before."))),
});

/** An object without unknown fields: a misspelt one is refused with the names that are known. */
export const record = <const E extends v.ObjectEntries>(entries: E) => {
  const names = Object.keys(entries);
  return v.strictObject(
    entries,
    `is not known here; known ${names.length > 0 ? `are: ${names.join(", ")}` : "is none"}`,
  );
};
/** The query of a record that is work: `wait` for its end, so many seconds at most. */
export const awaitable = v.object({ wait: v.optional(queryCount(0, 60)) });

export type Schema = v.GenericSchema;

/** Parses what came from outside, or throws a 422 that lists every broken rule. */
export function check<S extends Schema>(schema: S, input: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, input);
  if (result.success) return result.output;
  const details = result.issues.map(detailOf);
  const [first] = details;
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : "";
  throw new Problem("validation_failed", `${first?.path} ${first?.message}${more}`, { details });
}

/** The same for what a function of the library is handed: where that is no object at all, one that is right is shown. */
export function checkArgument<S extends Schema>(
  schema: S,
  name: string,
  given: unknown,
  right: string,
): v.InferOutput<S> {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw invalid(name, `must be an object such as ${right}`);
  return check(schema, given);
}

/** Whether it is a field that the schema does not have. */
export const isUnknown = (issue: v.BaseIssue<unknown>) => issue.type === "strict_object" && issue.expected === "never";

/** One broken rule in the words of the interface. */
export function detailOf(issue: v.BaseIssue<unknown>): Detail {
  const path = v.getDotPath(issue) ?? "body";
  if (issue.input === undefined && issue.kind === "schema") return { path, message: "is required" };
  const expected: Record<string, string> = {
    object: "must be an object",
    strict_object: "must be an object",
    Object: "must be an object",
    Array: "must be a list",
  };
  if (isUnknown(issue))
    return { path, message: issue.message.startsWith("Invalid") ? "is not known here" : issue.message };
  const message =
    expected[issue.expected ?? ""] ??
    (issue.message.startsWith("Invalid") ? `must be ${issue.expected}` : issue.message);
  return { path, message };
}
