import type { Json } from "../lib/composition/openapi/json-schema.ts";
import { exampleOf } from "./openapi/examples.ts";

/** Converts JSON Schemas to TypeScript types, with documentation for each field. */

export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly doc: Json;
  readonly type: string;
}

type Named = Readonly<Record<string, Json>>;
type Shape = Json & {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Json[];
  readonly oneOf?: readonly Json[];
  readonly items?: Json;
  readonly properties?: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Json | boolean;
};

const nameOf = (ref: string) => ref.split("/").at(-1) ?? "";
const key = (name: string) => (/^\w+$/.test(name) ? name : JSON.stringify(name));

/** The type of a schema. `depth` is the depth of the field. */
export function typeOf(schema: Json, named: Named, depth: number, name = ""): string {
  const { $ref, enum: words, anyOf, oneOf, items, properties, additionalProperties: more, type } = schema as Shape;
  const of = (one: Json) => typeOf(one, named, depth, name);
  if ("const" in schema) return JSON.stringify(schema["const"]);
  if ($ref !== undefined) return nameOf($ref);
  if (words) return words.map((word) => JSON.stringify(word)).join(" | ");
  const either = anyOf ?? oneOf;
  if (either) return [...new Set(either.map(of))].join(" | ");
  if (type === "array") {
    const item = of(items ?? {});
    return / \| /.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  }
  if (properties) return block(fieldsOf(schema, named, depth + 1), depth, more !== undefined && more !== false);
  if (type === "object") return `Record<string, ${typeof more === "object" ? of(more) : "unknown"}>`;
  if (type === "integer" || type === "number") return "number";
  return type ?? "unknown";
}

/** The fields of an object. */
export function fieldsOf(schema: Json, named: Named, depth: number): Field[] {
  const { properties = {}, required = [] } = schema as Shape;
  return Object.entries(properties).map(([name, one]) => ({
    name,
    required: required.includes(name),
    doc: { ...one, shown: exampleText(one, named, name) },
    type: typeOf(one, named, depth, name),
  }));
}

/** `{ … }` with the documentation above each field. `open` allows additional fields. */
export function block(fields: readonly Field[], depth: number, open = false): string {
  const margin = "  ".repeat(depth + 1);
  const lines = fields.flatMap(({ name, required, doc, type }) => [
    ...docLines(doc).map((line) => margin + line),
    `${margin}${key(name)}${required ? "" : "?"}: ${type}${required ? "" : " | undefined"};`,
  ]);
  if (open) lines.push(`${margin}/** Any further field. */`, `${margin}[name: string]: unknown;`);
  return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
}

export function interfaceOf(name: string, schema: Json, named: Named): string {
  const { additionalProperties: more } = schema as Shape;
  const body = block(fieldsOf(schema, named, 1), 0, more !== undefined && more !== false);
  const about = schema["description"] === undefined ? "" : `/** ${schema["description"]} */\n`;
  return `${about}export interface ${name} ${body}`;
}

/** An example value as code; undefined for an object, whose fields have their own examples, and if no example fits. */
function exampleText(schema: Json, named: Named, name: string): string | undefined {
  const [first] = (schema["examples"] as readonly unknown[] | undefined) ?? [];
  const value = first ?? exampleOf(schema, named, name);
  const text = JSON.stringify(value);
  return value === "text" || text === "{}" || text.length > 120 ? undefined : text;
}

/** A schema's limits besides its type: minimum, maximum, and the format of a time. */
function limitsOf(schema: Json): string[] {
  const { minLength, maxLength, minItems, maxItems, minimum, maximum, format } = schema as Record<string, number> & {
    format?: string;
  };
  const range = (least: number | undefined, most: number | undefined, unit: string) =>
    least !== undefined && most !== undefined
      ? [`${least} to ${most.toLocaleString("en")}${unit}.`]
      : most !== undefined
        ? [`At most ${most.toLocaleString("en")}${unit}.`]
        : least !== undefined
          ? [`At least ${least}${least === 1 ? unit.replace("entries", "entry") : unit}.`]
          : [];
  return [
    ...range(minLength, maxLength, " characters"),
    ...range(minItems, maxItems, " entries"),
    ...range(minimum, maximum, ""),
    ...(format === "date-time" ? ["ISO 8601, in UTC."] : []),
  ];
}

/** A field's doc comment: meaning, limits, default and example. */
function docLines(doc: Json): string[] {
  const { anyOf = [] } = doc as Shape;
  const limits = new Set([doc, ...anyOf].flatMap(limitsOf));
  const text = [doc["description"], ...limits].filter((one) => one !== undefined).join(" ");
  const more = [
    ...(doc["default"] === undefined ? [] : [`@default ${JSON.stringify(doc["default"])}`]),
    ...(doc["shown"] === undefined ? [] : [`@example ${doc["shown"]}`]),
  ];
  const lines = [...(text === "" ? [] : [text]), ...more].map((line) => line.replaceAll("*/", "*\\/"));
  return lines.length === 0 ? [] : ["/**", ...lines.map((line) => ` * ${line}`), " */"];
}
