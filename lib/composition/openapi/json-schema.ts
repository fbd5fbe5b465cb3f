import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

export type Json = Readonly<Record<string, unknown>>;
type Schema = GenericSchema;

/**
 * Omits rules that JSON Schema cannot express, unless `documentedAs` replaces them; keeps all others, including limits
 * in code points.
 */
const settings: ConversionConfig = {
  target: "draft-2020-12",
  typeMode: "input",
  errorMode: "ignore",
  // Marks objects that accept any further field, for clients and the command line.
  overrideSchema: ({ valibotSchema, jsonSchema }) =>
    valibotSchema.type === "loose_object" ? { ...jsonSchema, additionalProperties: {} } : undefined,
  overrideAction: ({ valibotAction: action, jsonSchema }) => {
    const { metadata } = action as { metadata?: { documentedAs?: object } };
    if (metadata?.documentedAs) {
      // A lazy schema is converted to a reference. The schema from `documentedAs` replaces it.
      const { documentedAs: _, $ref: __, ...rest } = jsonSchema as Json;
      return { ...rest, ...meaning(metadata.documentedAs) };
    }
    return undefined;
  },
};

const meaning = (form: object): Json => ("~run" in form ? jsonSchema(form as Schema) : (form as Json));

export function jsonSchema(schema: Schema): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, settings);
  return rest;
}

/** Schemas by name. A schema refers to the other named schemas that it contains. */
export function jsonSchemas(named: Readonly<Record<string, Schema>>): Record<string, Json> {
  const overrideRef: ConversionConfig["overrideRef"] = ({ referenceId }) => `#/components/schemas/${referenceId}`;
  const all = toJsonSchemaDefs(named, { ...settings, overrideRef }) as Record<string, Json>;
  return Object.fromEntries(Object.keys(named).map((name) => [name, all[name] ?? {}]));
}
