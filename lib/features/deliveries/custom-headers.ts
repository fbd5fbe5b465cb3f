import * as v from "valibot";
import { invalid } from "../../kernel/errors.ts";
import { redaction } from "../../kernel/secrets/secret-values.ts";
import { ofFewFields } from "../../kernel/size-limits.ts";
import { parseUrl } from "../../kernel/text/url.ts";
import { documentedAs, textLike } from "../../kernel/validation.ts";

/** An endpoint's custom headers, sent with every attempt, such as credentials for a receiver behind a gateway. */
type Headers = Readonly<Record<string, string>>;

const maxHeaders = 10;

/** Headers that HTTP or the service sets. */
const reserved =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|date|via|http2-settings|content-.*|accept-encoding|user-agent|webhook-.*|x-service-.*)$/i;

const name = v.pipe(
  textLike(64, /^[A-Za-z0-9-]+$/, "must be a name of 1 to 64 characters of A-Z, a-z, 0-9 and -"),
  v.check((text) => !reserved.test(text), "is a header that HTTP or the service sets; choose another name"),
);
const value = textLike(
  1024,
  /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/,
  "must have 1 to 1,024 printable ASCII characters, without white space around them",
);

const notAnObject = "must be an object of names and values";

export const headersRule = v.pipe(
  v.custom<Headers>((given) => !Array.isArray(given), notAnObject),
  documentedAs({
    type: "object",
    maxProperties: maxHeaders,
    propertyNames: { type: "string", maxLength: 64, pattern: "^[A-Za-z0-9-]+$" },
    additionalProperties: { type: "string", minLength: 1, maxLength: 1024 },
  }),
  ofFewFields(v.record(name, value, notAnObject), maxHeaders, `must have at most ${maxHeaders} headers`),
  v.check(
    (headers) => new Set(Object.keys(headers).map((one) => one.toLowerCase())).size === Object.keys(headers).length,
    "must name each header once, in upper or lower case",
  ),
);

/** Marks custom headers among the secrets: there they are encrypted, and removed from stored responses. */
const prefix = "header ";

export const asSecrets = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).map(([one, text]) => [prefix + one, text]));

export const headersIn = (secrets: Headers): Headers =>
  Object.fromEntries(
    Object.entries(secrets).flatMap(([one, text]) =>
      one.startsWith(prefix) ? [[one.slice(prefix.length), text]] : [],
    ),
  );

/** The field `headers` of responses, without values; left out if the endpoint has none. */
export const shownHeaders = (names: readonly string[]): { headers?: Headers } =>
  names.length === 0 ? {} : { headers: Object.fromEntries(names.map((one) => [one, redaction])) };

/** A change of the origin drops stored values: otherwise a caller could have them sent to another server. */
export function keptHeaders(
  given: Headers | undefined,
  secrets: Headers,
  { field, from, to }: { field: string; from: string; to: string },
): Headers {
  const stored = new Map(Object.entries(headersIn(secrets)).map(([one, text]) => [one.toLowerCase(), text]));
  const moves = parseUrl(from)?.origin !== parseUrl(to)?.origin;
  const wanted = given ?? Object.fromEntries(Object.keys(headersIn(secrets)).map((one) => [one, redaction]));
  return Object.fromEntries(
    Object.entries(wanted).map(([one, text]) => {
      if (text !== redaction) return [one, text];
      const kept = stored.get(one.toLowerCase());
      if (kept === undefined) throw invalid(`${field}.${one}`, "must be the value: there is no stored value to keep");
      if (moves) throw invalid(`${field}.${one}`, "must be given again for a URL of another origin");
      return [one, kept];
    }),
  );
}
