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
  const all = v.pipe(v.record(variableName, variable), v.maxEntries(200, "must have at most 200 variables"));
  const isObject = (given: unknown) => typeof given === "object" && given !== null && !Array.isArray(given);
  const object = v.custom<v.InferInput<typeof all>>(isObject, "must be an object");
  const unreserved = v.check<v.InferInput<typeof all>, string>(
    (given) => !reserved.some((name) => Object.hasOwn(given, name)),
    `must not have a variable named ${reserved.join(" or ")}`,
  );
  return v.pipe(object, unreserved, documentedAs(all), all);
}

const given = v.strictObject({ value, secret: v.boolean("must be true or false") });

/** Plain as text, secret as `{"value": "…", "secret": true}`. */
export const variables = named(v.union([value, given], 'must be text, or {"value", "secret"}'));

/** A secret as it is read: sent back, it stays as it is. */
const storedSecret = v.strictObject({ secret: v.literal(true) });

/** All variables of an environment: those left out are removed. */
export const environmentChanges = v.object({
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

/** CONTRACT section 9: "An environment is `{name, variables}`", with "secrets as `{"secret":true}`". */
export const environment = v.object({
  name: v.string(),
  variables: v.record(v.string(), v.union([v.string(), storedSecret])),
});
export const environmentsQuery = v.object(paging());
/** The parameters of a path to an environment of a project. */
export const inProject = v.object({ id: v.string(), name: v.string() });
