import { domainToASCII } from "node:url";
import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { maxVariables } from "../../kernel/limits.ts";
import { listOf, ofFewFields } from "../../kernel/size-limits.ts";
import { isObject } from "../../kernel/text/json.ts";
import { documentedAs, text, textLike } from "../../kernel/validation.ts";

const variableName = textLike(
  255,
  /^[A-Za-z_][A-Za-z0-9_]{0,254}$/,
  "must be named with 1 to 255 of A-Z, a-z, 0-9 and underscore, and not begin with a digit",
);
const value = v.pipe(text(), v.maxBytes(32_768, "must have at most 32 KiB"), documentedAs({ maxLength: 32_768 }));

/** Refused as names of variables: JavaScript objects have these properties, and a parser would silently drop them. */
const reserved = ["__proto__", "constructor", "prototype"];

function named<T extends v.GenericSchema>(variable: T) {
  const all = ofFewFields(
    v.record(variableName, variable),
    maxVariables,
    `must have at most ${maxVariables} variables`,
  );
  const object = v.custom<v.InferInput<typeof all>>(isObject, "must be an object");
  const unreserved = v.check<v.InferInput<typeof all>, string>(
    (given) => !reserved.some((name) => Object.hasOwn(given, name)),
    `must not have a variable named ${reserved.join(" or ")}`,
  );
  return v.pipe(object, unreserved, documentedAs(all), all);
}

const newSecret = v.strictObject({
  value: field(value, "The value of the variable."),
  secret: field(v.boolean("must be true or false"), "`true` encrypts the value, and no response shows it."),
});

/** A plain variable is a text; a secret one is `{"value": "…", "secret": true}`. */
export const variables = named(v.union([value, newSecret], 'must be text, or {"value", "secret"}'));

/** A secret as responses show it. Sent back unchanged, it keeps its value. */
export const storedSecret = v.strictObject({
  secret: field(v.literal(true), "The value is secret, and stays as it is."),
});

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const hostName = new RegExp(`^(?:${label}\\.)+(?!\\d+$)${label}$`);
const isHost = (name: string) => name.length <= 253 && hostName.test(name);
/** A host name in lower case with at least two labels. Names beyond ASCII are written in their xn-- form. */
export const domainName = v.pipe(
  v.string("must be a string"),
  v.toLowerCase(),
  v.check(isHost, ({ input }) => {
    const ascii = domainToASCII(input);
    return ascii !== input && isHost(ascii)
      ? `must be in the form of DNS, ${ascii}`
      : "must be a host name such as www.example.com, without scheme and port";
  }),
  documentedAs({ maxLength: 253 }),
);

// `\p{Cc}` spelled out, and no lookaheads: the document publishes these patterns, and not every reader knows both.
const control = String.raw`\u0000-\u001f\u007f-\u009f`;
const character = String.raw`[^/\\${control}]`;
const noDot = String.raw`[^/\\.${control}]`;
/** Matches neither `.` nor `..`. */
const folder = String.raw`(${noDot}${character}*|\.${noDot}${character}*|\.\.${character}+)`;
export const rootFolder = textLike(
  255,
  new RegExp(`^${folder}(/${folder})*$`, "u"),
  "must be a folder of the repository such as apps/web: relative, without . and .. and without a slash at its end",
);

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header has none
const plain = /^[^\u0000-\u001f\u007f]{1,255}$/;
const protect = v.strictObject({
  user: field(
    textLike(
      255,
      new RegExp(`^[^:${control}]{1,255}$`, "u"),
      "must be 1 to 255 characters without a colon and control characters",
    ),
    "The user name that a visitor gives.",
  ),
  password: field(
    textLike(255, plain, "must be 1 to 255 characters without control characters"),
    "The password that a visitor gives; `[redacted]` keeps the stored one.",
  ),
});

/** The fields beside the variables. Those that are left out stay unchanged. */
export const otherFields = {
  protect: v.optional(
    v.pipe(
      v.nullable(protect),
      v.description(
        "The user and password that every request to the app needs, by Basic authentication; null removes them. Left out, they stay as they are. A password sent as `[redacted]` stays, too.",
      ),
    ),
  ),
  root: optionalField(
    v.nullable(rootFolder),
    "The folder of the repository that is built, such as `apps/web`; null for all of it. Left out, it stays as it is. Pushes that change nothing below it deploy nothing.",
  ),
  domains: v.optional(
    v.pipe(
      listOf(domainName, 100, undefined, "must have at most 100 domains"),
      v.description("The complete list of the environment's own host names. Left out, they stay as they are."),
    ),
  ),
};

export const allVariables = field(
  named(
    v.union(
      [value, newSecret, storedSecret],
      'must be text, {"value", "secret"}, or {"secret": true} to keep a stored secret',
    ),
  ),
  'All variables: text, or `{"value": "…", "secret": true}`; `{"secret": true}` alone keeps the stored secret. Left out beside another field, they stay as they are.',
);

export const singleVariables = field(
  named(
    v.nullable(
      v.union(
        [value, newSecret, storedSecret],
        'must be text, {"value", "secret"}, {"secret": true} to keep a stored secret, or null to remove it',
      ),
    ),
  ),
  'The variables to set: text, or `{"value": "…", "secret": true}`; null removes the variable. All others stay as they are. Left out beside another field, all stay as they are.',
);
