import * as v from "valibot";
import { documentedAs, paging, text, textLike } from "../kernel/validation.ts";

export const environmentName = textLike(
  64,
  /^[A-Za-z0-9._-]{1,64}$/,
  "must be 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen",
);

const variableName = textLike(
  255,
  /^[A-Za-z_][A-Za-z0-9_]{0,254}$/,
  "must be named with 1 to 255 of A-Z, a-z, 0-9 and underscore, and not begin with a digit",
);
const value = v.pipe(text(), v.maxBytes(32_768, "must have at most 32 KiB"), documentedAs({ maxLength: 32_768 }));

/** Names that objects have in JavaScript: a parser leaves them out, and no variable may get lost silently. */
const reserved = ["__proto__", "constructor", "prototype"];

function named<T extends v.GenericSchema>(variable: T) {
  const few = "must have at most 200 variables";
  const all = v.pipe(v.record(variableName, variable), v.maxEntries(200, few));
  const isObject = (given: unknown) => typeof given === "object" && given !== null && !Array.isArray(given);
  const object = v.custom<v.InferInput<typeof all>>(isObject, "must be an object");
  const unreserved = v.check<v.InferInput<typeof all>, string>(
    (given) => !reserved.some((name) => Object.hasOwn(given, name)),
    `must not have a variable named ${reserved.join(" or ")}`,
  );
  // Asked before each of them is looked at: 60,000 wrong ones took 0.8 s.
  const counted = v.check<v.InferInput<typeof all>, string>((given) => Object.keys(given).length <= 200, few);
  return v.pipe(object, unreserved, counted, documentedAs(all), all);
}

const given = v.strictObject({ value, secret: v.boolean("must be true or false") });

/** Plain as text, secret as `{"value": "…", "secret": true}`. */
export const variables = named(v.union([value, given], 'must be text, or {"value", "secret"}'));

/** A secret as it is read: sent back, it stays as it is. */
const storedSecret = v.strictObject({ secret: v.literal(true) });

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
/** A host name in lower case with two labels at least; a name beyond ASCII is written in its xn-- form. */
export const domainName = v.pipe(
  v.string("must be a string"),
  v.toLowerCase(),
  v.check(
    (name) => name.length <= 253 && new RegExp(`^(?:${label}\\.)+(?!\\d+$)${label}$`).test(name),
    "must be a host name such as www.example.com, without scheme and port",
  ),
  documentedAs({ maxLength: 253 }),
);

/** All variables of an environment: those left out are removed. */
export const environmentChanges = v.object({
  domains: v.optional(
    v.pipe(
      v.array(domainName, "must be a list"),
      v.maxLength(100, "must have at most 100 domains"),
      v.description("The own host names of the environment, all of them. Left out, they stay as they are."),
    ),
  ),
  variables: v.pipe(
    named(
      v.union(
        [value, given, storedSecret],
        'must be text, {"value", "secret"}, or {"secret": true} for a secret that is to stay as it is',
      ),
    ),
    v.description(
      'All of them: text, or `{"value": "…", "secret": true}`; `{"secret": true}` alone keeps the secret that is stored.',
    ),
  ),
});

/**
 * CONTRACT section 9: "An environment is `{name, variables}`", with "secrets as `{"secret":true}`"; section 11:
 * "environments show `domains` and `url`". Without a runtime, domains are shown where there are any, and no URL.
 */
export const environment = v.object({
  name: v.string(),
  variables: v.record(v.string(), v.union([v.string(), storedSecret])),
  domains: v.optional(v.array(v.string())),
  domain_status: v.optional(
    v.pipe(
      v.array(
        v.object({
          name: v.string(),
          status: v.picklist(["active", "pending"]),
          record: v.string(),
          token: v.string(),
          reason: v.nullable(v.string()),
        }),
      ),
      v.description(
        "Each domain with its state. A `pending` one serves once the TXT record `record` has the value `token`; `reason` says what the last look-up lacked.",
      ),
    ),
  ),
  url: v.optional(v.nullable(v.string())),
});
export const environmentsQuery = v.object(paging());
/** The parameters of a path to an environment of a project. */
export const inProject = v.object({ id: v.string(), name: v.string() });
