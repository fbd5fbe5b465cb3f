import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import type * as v from "valibot";

export type Json = Readonly<Record<string, unknown>>;
type Schema = v.GenericSchema;

/** Rules that JSON Schema cannot say are left out, unless they are `documentedAs` something; what it can say, code points included, is kept. */
const settings: ConversionConfig = {
  target: "draft-2020-12",
  typeMode: "input",
  errorMode: "ignore",
  // What takes any further field says so, for clients and the command line.
  overrideSchema: ({ valibotSchema, jsonSchema }) =>
    valibotSchema.type === "loose_object" ? { ...jsonSchema, additionalProperties: {} } : undefined,
  overrideAction: ({ valibotAction: action, jsonSchema }) => {
    const { requirement, metadata } = action as { requirement?: number; metadata?: { documentedAs?: object } };
    if (action.type === "min_code_points") return { ...jsonSchema, minLength: requirement ?? 0 };
    if (action.type === "max_code_points") return { ...jsonSchema, maxLength: requirement ?? 0 };
    if (metadata?.documentedAs) {
      // A lazy schema is a reference to what it may be; what `documentedAs` gives stands for it.
      const { $ref: __, ...rest } = jsonSchema as Json;
      return { ...rest, ...meaning(metadata.documentedAs) };
    }
    return undefined;
  },
};

const meaning = (written: object): Json => ("~run" in written ? jsonSchema(written as Schema) : (written as Json));

/** One schema, whole in itself. */
export function jsonSchema(schema: Schema): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, settings);
  return rest;
}

/** Schemas by name; where one holds another of them, it refers to it. */
export function jsonSchemas(named: Readonly<Record<string, Schema>>): Record<string, Json> {
  const overrideRef: ConversionConfig["overrideRef"] = ({ referenceId }) => `#/components/schemas/${referenceId}`;
  const all = toJsonSchemaDefs(named, { ...settings, overrideRef }) as Record<string, Json>;
  return Object.fromEntries(Object.keys(named).map((name) => [name, all[name] ?? {}]));
}
