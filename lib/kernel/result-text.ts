import * as v from "valibot";
import type { Schema } from "./validation.ts";

/** JSON with exactly the fields of a result schema. Answers contain it unchecked, so no caller's text may be one. */
export type JsonText = string & { readonly isJson: true };

/** The only function that makes a `JsonText`. `value` must have exactly the fields of its result schema. */
export const jsonText = (value: object): JsonText => JSON.stringify(value) as JsonText;

const jsonOf = (value: unknown): string => JSON.stringify(value) ?? "null";

/** Writes the fields of a schema; undefined if the schema passes every value unchanged. */
type Writer = ((value: unknown) => string) | undefined;

type SchemaParts = Schema & {
  readonly entries?: Record<string, Schema>;
  readonly wrapped?: Schema;
  readonly item?: Schema;
  readonly pipe?: readonly [Schema, ...unknown[]];
};

/**
 * An answer holds exactly the schema's keys, so a column outside the interface cannot leak. Optional keys that are null
 * are left out unless their schema accepts null, so a service may return a row unchanged.
 */
export function writerOf(schema: Schema): (value: unknown) => string {
  return writer(schema as SchemaParts) ?? jsonOf;
}

function writer(schema: SchemaParts): Writer {
  if (schema.pipe) return schema.pipe[0] === schema ? plain(schema) : writer(schema.pipe[0] as SchemaParts);
  return plain(schema);
}

function plain(schema: SchemaParts): Writer {
  if (schema.entries) return object(schema.entries);
  if (schema.item) {
    const write = writer(schema.item as SchemaParts);
    return write && ((value) => `[${(value as unknown[]).map(write).join()}]`);
  }
  if (schema.wrapped) {
    const write = writer(schema.wrapped as SchemaParts);
    return write && ((value) => (value === null || value === undefined ? "null" : write(value)));
  }
  if (schema.type === "union" || schema.type === "variant" || schema.type === "intersect") {
    throw new Error(`a result schema of type ${schema.type} is not supported; use one object`);
  }
  return undefined;
}

/** A record that is a string is already JSON, from a column or the database. */
function object(entries: Record<string, Schema>): Writer {
  // Computed at the first record, because a service uses few of its operations.
  const fieldsOf = () =>
    Object.entries(entries).map(([name, of]) => ({
      name,
      key: `${jsonOf(name)}:`,
      isOptional: of.type === "optional" || of.type === "exact_optional" || of.type === "nullish",
      takesNull: v.is(of, null),
      write: writer(of as SchemaParts) ?? jsonOf,
    }));
  let fields: ReturnType<typeof fieldsOf> | undefined;
  return (record) => {
    if (typeof record === "string") return record;
    fields ??= fieldsOf();
    let text = "";
    for (const { name, key, isOptional, takesNull, write } of fields) {
      const value = (record as Record<string, unknown>)[name];
      if (isOptional && (value === undefined || (value === null && !takesNull))) continue;
      text += `${text && ","}${key}${write(value)}`;
    }
    return `{${text}}`;
  };
}
