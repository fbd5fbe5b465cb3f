import { published } from "../lib/composition/openapi/service.ts";
import { didYouMean } from "../lib/kernel/text/did-you-mean.ts";
import { pathOf, readText } from "../lib/kernel/text/paths.ts";
import { listIn, refuseDeep, UsageError } from "./arguments.ts";

type Json = Readonly<Record<string, unknown>>;

/** An operation and its input, from the published OpenAPI document. */
export interface OperationInfo {
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  readonly method: string;
  readonly fields: Json;
  /** The names of the path parameters in order. A word without `name=` fills the first that is still empty. */
  readonly path: readonly string[];
  readonly example: Json;
}

let document: Json | undefined;
const openApiDocument = (): Json => {
  document ??= published("flat");
  return document;
};

export function documentedOperations(): OperationInfo[] {
  const paths = Object.values(openApiDocument()["paths"] as Record<string, Record<string, Operation>>);
  return paths.flatMap(Object.entries).map(([method, operation]: [string, Operation]) => {
    const { operationId, parameters = [], requestBody, summary, description } = operation;
    const inputs = parameters.filter((one) => one.in === "path" || one.in === "query");
    const properties = Object.fromEntries(inputs.map(({ name = "", schema = {} }) => [name, schema]));
    const path = inputs.flatMap(({ name = "", in: place }) => (place === "path" ? [name] : []));
    const { schema: body, example = {} } = requestBody?.content["application/json"] ?? {};
    const fields = { allOf: [{ properties, required: path }, ...(body ? [body] : [])] };
    return { id: operationId, summary, description, method: method.toUpperCase(), fields, path, example };
  });
}

/** Finds an operation by its name. For an unknown name, the error suggests similar ones. */
export function operationOf(id: string): OperationInfo {
  const operations = documentedOperations();
  const operation = operations.find((one) => one.id === id);
  if (operation) return operation;
  const all = operations.map((one) => one.id);
  // For an unknown name such as users.frobnicate, only the operations of `users` are listed.
  const within = all.filter((one) => id.includes(".") && one.startsWith(id.slice(0, id.indexOf(".") + 1)));
  const ids = within.length > 0 ? within : all;
  throw new UsageError(
    `no operation is called "${id}"${didYouMean(id, all) || `; the operations are ${ids.join(", ")}`}`,
  );
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly { readonly name?: string; readonly in?: string; readonly schema?: Json }[];
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: Json; readonly example?: Json } };
  };
}

const target = (reference: string): Json =>
  reference
    .split("/")
    .slice(1)
    .reduce<unknown>((part, key) => (part as Json)[key], openApiDocument()) as Json;

/** The subschemas of a schema: those that always apply (allOf, $ref), and its alternatives (anyOf, oneOf). */
function branchesOf(schema: Json): { joined: Json[]; choices: Json[] } {
  const reference = schema["$ref"];
  const joined = [
    ...((schema["allOf"] ?? []) as Json[]),
    ...(typeof reference === "string" ? [target(reference)] : []),
  ];
  return { joined, choices: [schema["anyOf"], schema["oneOf"]].flatMap((all) => (all ?? []) as Json[]) };
}

/** A schema and all its subschemas in one list, with references resolved. */
export function formsOf(schema: Json): Json[] {
  const { joined, choices } = branchesOf(schema);
  return [schema, ...[...joined, ...choices].flatMap(formsOf)];
}

/** The field names that a schema always requires. Of its alternatives, only names that all of them require count. */
export function requiredOf(schema: Json): string[] {
  const { joined, choices } = branchesOf(schema);
  const [first = [], ...others] = choices.map(requiredOf);
  const common = first.filter((name) => others.every((names) => names.includes(name)));
  return [...((schema["required"] ?? []) as string[]), ...joined.flatMap(requiredOf), ...common];
}

/** An object's field names, and a lookup of a field's schema; undefined for an unknown name. */
export function partsOf(schema: Json): { names: string[]; of(name: string): Json | undefined } {
  const forms = formsOf(schema);
  const named = forms.map(({ properties }) => (properties ?? {}) as Record<string, Json>);
  const rest = forms
    .map((form) => form["additionalProperties"])
    .filter((one) => typeof one === "object" && one !== null);
  return {
    names: [...new Set(named.flatMap(Object.keys))],
    of(name) {
      const schemas = named.filter((one) => Object.hasOwn(one, name)).map((one) => one[name]);
      return schemas.length > 0 ? { anyOf: schemas } : rest.length > 0 ? { anyOf: rest } : undefined;
    },
  };
}

/** The allowed values of a field; empty if it allows any. */
export const enumOf = (schema: Json): string[] => allowedIn(schema).map(String);

const allowedIn = (schema: Json) =>
  formsOf(schema).flatMap(
    (form) => (form["enum"] ?? (form["const"] === undefined ? [] : [form["const"]])) as unknown[],
  );

const withArticle = (type: unknown) =>
  type === "null" ? "null" : `${/^[aeiou]/.test(String(type)) ? "an" : "a"} ${type}`;

function typed(text: string, schema: Json, place: string): unknown {
  const forms = formsOf(schema);
  const types = new Set(forms.map(({ type }) => type).filter(Boolean));
  if (text === "null" && types.has("null")) return null;
  const allowed = allowedIn(schema).find((value) => typeof value !== "string" && String(value) === text);
  if (allowed !== undefined) return allowed;
  if (types.has("boolean") && /^(true|false)$/.test(text)) return text === "true";
  if ((types.has("integer") || types.has("number")) && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (types.has("array")) {
    const items = forms.find(({ items }) => items)?.["items"] as Json | undefined;
    if (text.startsWith("[")) return parsed(text, types, place);
    return text === "" ? [] : listIn(text).map((one) => typed(one, items ?? {}, place));
  }
  const isText = types.has("string") || forms.some((form) => form["const"] || form["enum"]);
  if (isText && !(types.has("object") && text.startsWith("{"))) return text;
  // If the schema allows any value, text that is not valid JSON stays text.
  return parsed(text, types, place, isText || types.size === 0);
}

function parsed(text: string, types: ReadonlySet<unknown>, place: string, mayBeText = false): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (mayBeText) return text;
    throw new UsageError(`${place} must be ${[...types].map(withArticle).join(" or ")}, not "${text}"`);
  }
  return refuseDeep(value, place);
}

type Tree = { [name: string]: unknown };

/**
 * Converts words to an operation's input: `a.b=value`, `list[]=value`, `body=@file`, and identifiers without a name.
 * `source` names the value's origin in errors; by default the field.
 */
export function inputOf({ id, fields, path }: OperationInfo, words: readonly string[], source?: string): Tree {
  const input: Tree = {};
  for (const word of words) {
    const bare = word.includes("=") ? undefined : path.find((name) => !Object.hasOwn(input, name));
    const [, place, text = ""] = /^([^=]+)=(.*)$/s.exec(bare === undefined ? word : `${bare}=${word}`) ?? [];
    if (place === undefined)
      throw new UsageError(`"${word}" is not a field; use name=value, a.b=value or list[]=value`);
    if (place === "body" && text.startsWith("@")) Object.assign(input, bodyOf(text.slice(1)));
    else put(input, place, text, fields, id, source);
  }
  return input;
}

function put(input: Tree, place: string, text: string, fields: Json, id: string, source = place): void {
  const isItem = place.endsWith("[]");
  const names = place.replace(/\[\]$/, "").split(".");
  let schema = fields;
  let at = input;
  names.forEach((name, i) => {
    if (name === "" || name === "__proto__") throw new UsageError(`"${place}" is not the name of a field`);
    const parts = partsOf(schema);
    const part = parts.of(name);
    // All top-level fields are known. A nested object may allow any name.
    if (part === undefined && (i === 0 || parts.names.length > 0))
      throw new UsageError(
        `${id} has no field ${place}${didYouMean(name, parts.names) || `; ${parts.names.length > 0 ? `its fields are ${parts.names.join(", ")}` : "it takes no fields"}`}`,
      );
    schema = part ?? {};
    if (i === names.length - 1) {
      const items = formsOf(schema).find(({ items }) => items)?.["items"] as Json | undefined;
      const before = Array.isArray(at[name]) ? at[name] : [];
      at[name] = isItem ? [...before, typed(text, items ?? {}, source)] : typed(text, schema, source);
    } else {
      if (typeof at[name] !== "object" || at[name] === null) at[name] = {};
      at = at[name] as Tree;
    }
  });
}

function bodyOf(path: string): object {
  let body: unknown;
  try {
    body = JSON.parse(readText(path === "-" ? 0 : pathOf(path)));
  } catch (error) {
    throw new UsageError(`the body ${path} cannot be read as JSON: ${(error as Error).message}`);
  }
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return refuseDeep(body, `the body ${path}`);
  throw new UsageError(`the body ${path} must be a JSON object`);
}
