import { readFileSync } from "node:fs";
import { didYouMean } from "../lib/kernel/did-you-mean.ts";
import { published } from "../lib/openapi/service.ts";
import { UsageError } from "./arguments.ts";

type Json = Readonly<Record<string, unknown>>;

/** One operation, as the published document describes it: what may be given, by its schema. */
export interface OperationInfo {
  readonly id: string;
  readonly summary: string;
  readonly fields: Json;
  /** The names that its path holds, in their order: a word without a name is the first of them that is not given yet. */
  readonly path: readonly string[];
  /** A body that is right. */
  readonly example: Json;
}

let document: Json | undefined;
const openApiDocument = (): Json => {
  document ??= published("flat");
  return document;
};

/** Every operation, from the document that is published with this program. */
export function documentedOperations(): OperationInfo[] {
  const paths = Object.values(openApiDocument()["paths"] as Record<string, Record<string, Operation>>);
  return paths.flatMap(Object.values).map(({ operationId, summary, parameters = [], requestBody }: Operation) => {
    const own = parameters.filter((one) => one.in === "path" || one.in === "query");
    const properties = Object.fromEntries(own.map(({ name = "", schema = {} }) => [name, schema]));
    const path = own.flatMap(({ name = "", in: place }) => (place === "path" ? [name] : []));
    const { schema: body, example = {} } = requestBody?.content["application/json"] ?? {};
    const fields = { allOf: [{ properties, required: path }, ...(body ? [body] : [])] };
    return { id: operationId, summary, fields, path, example };
  });
}

/** The operation of this name; throws with the nearest ones where there is none. */
export function operationOf(id: string): OperationInfo {
  const operations = documentedOperations();
  const operation = operations.find((one) => one.id === id);
  if (operation) return operation;
  const all = operations.map((one) => one.id);
  // users.frobnicate: of the users' operations alone.
  const within = all.filter((one) => id.includes(".") && one.startsWith(id.slice(0, id.indexOf(".") + 1)));
  const ids = within.length > 0 ? within : all;
  throw new UsageError(`no operation is called "${id}"${hint(id, all) || `; there are ${ids.join(", ")}`}`);
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
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

/** What a schema is made of: what it refers to and joins, and what it leaves a choice of. */
function branchesOf(schema: Json): { joined: Json[]; choices: Json[] } {
  const reference = schema["$ref"];
  const joined = [
    ...((schema["allOf"] ?? []) as Json[]),
    ...(typeof reference === "string" ? [target(reference)] : []),
  ];
  return { joined, choices: [schema["anyOf"], schema["oneOf"]].flatMap((all) => (all ?? []) as Json[]) };
}

/** Every form that a value may have: references followed, choices and conjunctions laid side by side. */
export function formsOf(schema: Json): Json[] {
  const { joined, choices } = branchesOf(schema);
  return [schema, ...[...joined, ...choices].flatMap(formsOf)];
}

/** The names that must be there, whatever is chosen. */
export function requiredOf(schema: Json): string[] {
  const { joined, choices } = branchesOf(schema);
  const [first = [], ...others] = choices.map(requiredOf);
  const common = first.filter((name) => others.every((names) => names.includes(name)));
  return [...((schema["required"] ?? []) as string[]), ...joined.flatMap(requiredOf), ...common];
}

/** The names that a value may have below it, with their schemas; undefined where any name may be. */
export function partsOf(schema: Json): { names: string[]; of(name: string): Json | undefined } {
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
export const namesOf = ({ fields }: OperationInfo): string[] => partsOf(fields).names;

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
    throw new UsageError(`${place} must be ${[...types].join(" or ")}, not "${text}"`);
  }
}

type Tree = { [name: string]: unknown };

/** `a.b=value` and `list[]=value` words, `body=@file`, and identifiers without their names, as what an operation takes. */
export function inputOf({ id, fields, path }: OperationInfo, words: readonly string[]): Tree {
  const input: Tree = {};
  for (const word of words) {
    const bare = word.includes("=") ? undefined : path.find((name) => !Object.hasOwn(input, name));
    const [, place, text = ""] = /^([^=]+)=(.*)$/s.exec(bare === undefined ? word : `${bare}=${word}`) ?? [];
    if (place === undefined) throw new UsageError(`"${word}" is no field; write name=value, a.b=value or list[]=value`);
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
    if (name === "" || name === "__proto__") throw new UsageError(`"${place}" is no place of a field`);
    const parts = partsOf(schema);
    const part = parts.of(name);
    // What an operation takes is always named; what lies below may be open to any name.
    if (part === undefined && (i === 0 || parts.names.length > 0))
      throw new UsageError(
        `${id} has no field ${place}${hint(name, parts.names) || `; it takes ${parts.names.join(", ") || "none"}`}`,
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
    throw new UsageError(`the body ${path} cannot be read as JSON: ${(error as Error).message}`);
  }
  throw new UsageError(`the body ${path} must be a JSON object`);
}
