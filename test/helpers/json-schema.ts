type Json = Readonly<Record<string, unknown>>;
type Rule = (wanted: never, value: unknown, at: string, root: Json, schema: Json) => string[];

const kindOf = (value: unknown) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
const isObject = (value: unknown): value is Json => kindOf(value) === "object";
const when = (wrong: boolean, sentence: string) => (wrong ? [sentence] : []);
const points = (value: unknown) => (typeof value === "string" ? [...value].length : undefined);
const annotations = ["description", "title", "example", "examples", "default", "$schema"];

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  "date-time": (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text),
  email: (text) => /^[^@\s]+@[^@\s]+$/.test(text),
  uri: (text) => URL.canParse(text),
};

const rules: Readonly<Record<string, Rule>> = {
  $ref: (name: string, value, at, root) => faults(named(name, root), value, root, at),
  type: (type: string, value, at) =>
    when(
      type === "integer" ? !Number.isInteger(value) : type !== kindOf(value),
      `${at} is ${kindOf(value)}, not ${type}`,
    ),
  const: (wanted: unknown, value, at) => when(value !== wanted, `${at} is not ${JSON.stringify(wanted)}`),
  enum: (words: unknown[], value, at) =>
    when(!words.includes(value), `${at} is ${JSON.stringify(value)}, none of ${words}`),
  allOf: (all: Json[], value, at, root) => all.flatMap((one) => faults(one, value, root, at)),
  anyOf: (any: Json[], value, at, root) => {
    const found = any.map((one) => faults(one, value, root, at));
    return when(
      !found.some(({ length }) => length === 0),
      `${at} is none of its ${any.length} forms: ${found.flat().join("; ")}`,
    );
  },
  oneOf: (any: Json[], value, at, root) =>
    when(
      any.filter((one) => faults(one, value, root, at).length === 0).length !== 1,
      `${at} is not exactly one of its forms`,
    ),
  properties: (parts: Record<string, Json>, value, at, root) =>
    Object.entries(parts).flatMap(([key, part]) =>
      isObject(value) && value[key] !== undefined ? faults(part, value[key], root, `${at}.${key}`) : [],
    ),
  required: (names: string[], value, at) =>
    names.flatMap((name) => when(isObject(value) && value[name] === undefined, `${at}.${name} is missing`)),
  additionalProperties: (part: Json | boolean, value, at, root, { properties = {} }) =>
    Object.entries(isObject(value) ? value : {}).flatMap(([key, one]) => {
      if (key in (properties as object) || part === true) return [];
      return part === false ? [`${at}.${key} is not known`] : faults(part, one, root, `${at}.${key}`);
    }),
  propertyNames: (part: Json, value, at, root) =>
    Object.keys(isObject(value) ? value : {}).flatMap((key) => faults(part, key, root, `${at}, the name ${key}`)),
  items: (part: Json, value, at, root) =>
    Array.isArray(value) ? value.flatMap((one, i) => faults(part, one, root, `${at}.${i}`)) : [],
  pattern: (text: string, value, at) =>
    when(typeof value === "string" && !new RegExp(text, "u").test(value), `${at} does not match ${text}`),
  format: (name: string, value, at) => {
    const isRight = formats[name];
    if (!isRight) throw new Error(`the format ${name} is not known to test/helpers/json-schema.ts`);
    return when(typeof value === "string" && !isRight(value), `${at} is no ${name}`);
  },
  minLength: (least: number, value, at) => when((points(value) ?? least) < least, `${at} is shorter than ${least}`),
  maxLength: (most: number, value, at) => when((points(value) ?? most) > most, `${at} is longer than ${most}`),
  maxProperties: (most: number, value, at) =>
    when(isObject(value) && Object.keys(value).length > most, `${at} has too many properties`),
  minItems: (least: number, value, at) => when(Array.isArray(value) && value.length < least, `${at} has too few items`),
  maxItems: (most: number, value, at) => when(Array.isArray(value) && value.length > most, `${at} has too many items`),
  minimum: (least: number, value, at) => when(typeof value === "number" && value < least, `${at} is below ${least}`),
  maximum: (most: number, value, at) => when(typeof value === "number" && value > most, `${at} is above ${most}`),
};

/** Resolves a reference such as `#/components/schemas/Project` in a document. */
export function named(reference: string, root: Json): Json {
  const found = reference
    .split("/")
    .slice(1)
    .reduce<unknown>((part, key) => (part as Json | undefined)?.[key], root);
  if (!isObject(found)) throw new Error(`${reference} leads nowhere`);
  return found;
}

/** Lists how a value violates a JSON Schema 2020-12. Throws for an unknown keyword. */
export function faults(schema: Json, value: unknown, root: Json = schema, at = "it"): string[] {
  return Object.entries(schema).flatMap(([keyword, wanted]) => {
    if (annotations.includes(keyword)) return [];
    const rule = rules[keyword];
    if (!rule) throw new Error(`the keyword ${keyword} is not known to test/helpers/json-schema.ts`);
    return rule(wanted as never, value, at, root, schema);
  });
}
