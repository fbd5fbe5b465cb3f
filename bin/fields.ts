import { readFileSync } from "node:fs";
import { published } from "../lib/openapi/service.ts";
import { Usage } from "./arguments.ts";
import { hint } from "./nearest.ts";

type Json = Readonly<Record<string, unknown>>;

/** One operation, as the published document describes it: what may be given, by its schema. */
export interface Described {
  readonly id: string;
  readonly summary: string;
  readonly fields: Json;
}

let document: Json | undefined;
const whole = (): Json => {
  document ??= published("flat");
  return document;
};

/** Every operation, from the document that is published with this program. */
export function described(): Described[] {
  const paths = Object.values(whole()["paths"] as Record<string, Record<string, Operation>>);
  return paths.flatMap(Object.values).map(({ operationId, summary, parameters = [], requestBody }: Operation) => {
    const own = parameters.filter((one) => one.in === "path" || one.in === "query");
    const properties = Object.fromEntries(own.map(({ name = "", schema = {} }) => [name, schema]));
    const body = requestBody?.content["application/json"].schema;
    return { id: operationId, summary, fields: { allOf: [{ properties }, ...(body ? [body] : [])] } };
  });
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly { readonly name?: string; readonly in?: string; readonly schema?: Json }[];
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: Json } } };
}

/** Every form that a value may have: references followed, choices and conjunctions laid side by side. */
function formsOf(schema: Json): Json[] {
  const reference = schema["$ref"];
  const target = (name: string) =>
    name
      .split("/")
      .slice(1)
      .reduce<unknown>((part, key) => (part as Json)[key], whole()) as Json;
  const parts = [schema["allOf"], schema["anyOf"], schema["oneOf"]].flatMap((all) => (all ?? []) as Json[]);
  const within = [...parts, ...(typeof reference === "string" ? [target(reference)] : [])];
  return [schema, ...within.flatMap(formsOf)];
}

/** The names that a value may have below it, with their schemas; undefined where any name may be. */
function partsOf(schema: Json): { names: string[]; of(name: string): Json | undefined } {
  const forms = formsOf(schema);
  const named = forms.map(({ properties }) => (properties ?? {}) as Record<string, Json>);
  const rest = forms
    .map((form) => form["additionalProperties"])
    .filter((one) => typeof one === "object" && one !== null);
  return {
    names: [...new Set(named.flatMap(Object.keys))],
    of(name) {
      const found = named.filter((one) => Object.hasOwn(one, name)).map((one) => one[name]);
      return found.length > 0 ? { anyOf: found } : rest.length > 0 ? { anyOf: rest } : undefined;
    },
  };
}

/** The fields of an operation. */
export const namesOf = ({ fields }: Described): string[] => partsOf(fields).names;

/** The text of a value, in the type that its schema names. */
function typed(text: string, schema: Json, place: string): unknown {
  const forms = formsOf(schema);
  const types = new Set(forms.map(({ type }) => type).filter(Boolean));
  if (text === "null" && types.has("null")) return null;
  if (types.has("boolean") && /^(true|false)$/.test(text)) return text === "true";
  if ((types.has("integer") || types.has("number")) && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (types.has("array")) {
    const items = forms.find(({ items }) => items)?.["items"] as Json | undefined;
    return text === "" ? [] : text.split(",").map((one) => typed(one, items ?? {}, place));
  }
  const isText = types.has("string") || forms.some((form) => form["const"] || form["enum"]);
  if (isText && !(types.has("object") && text.startsWith("{"))) return text;
  try {
    return JSON.parse(text);
  } catch {
    // Where any value may be, what is not JSON is text.
    if (isText || types.size === 0) return text;
    throw new Usage(`${place} must be ${[...types].join(" or ")}, not "${text}"`);
  }
}

type Tree = { [name: string]: unknown };

/** `a.b=value` and `list[]=value` words, and `body=@file`, as what an operation takes. */
export function inputOf({ id, fields }: Described, words: readonly string[]): Tree {
  const input: Tree = {};
  for (const word of words) {
    const [, place, text = ""] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (place === undefined) throw new Usage(`"${word}" is no field; write name=value, a.b=value or list[]=value`);
    if (place === "body" && text.startsWith("@")) Object.assign(input, bodyOf(text.slice(1)));
    else put(input, place, text, fields, id);
  }
  return input;
}

function put(input: Tree, place: string, text: string, fields: Json, id: string): void {
  const isItem = place.endsWith("[]");
  const names = place.replace(/\[\]$/, "").split(".");
  let schema = fields;
  let at = input;
  names.forEach((name, i) => {
    if (name === "" || name === "__proto__") throw new Usage(`"${place}" is no place of a field`);
    const parts = partsOf(schema);
    const part = parts.of(name);
    if (part === undefined && parts.names.length > 0)
      throw new Usage(
        `${id} has no field ${place}${hint(name, parts.names) || `; it takes ${parts.names.join(", ")}`}`,
      );
    schema = part ?? {};
    if (i === names.length - 1) {
      const items = formsOf(schema).find(({ items }) => items)?.["items"] as Json | undefined;
      const before = Array.isArray(at[name]) ? at[name] : [];
      at[name] = isItem ? [...before, typed(text, items ?? {}, place)] : typed(text, schema, place);
    } else {
      if (typeof at[name] !== "object" || at[name] === null) at[name] = {};
      at = at[name] as Tree;
    }
  });
}

function bodyOf(path: string): object {
  try {
    const body: unknown = JSON.parse(readFileSync(path === "-" ? 0 : path, "utf8"));
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  } catch (error) {
    throw new Usage(`the body ${path} cannot be read as JSON: ${(error as Error).message}`);
  }
  throw new Usage(`the body ${path} must be a JSON object`);
}
