import * as v from "valibot";
import { compileCopy } from "./compiled-records.ts";
import type { Schema } from "./validation.ts";

/** Copies the fields that a schema names; undefined if the schema passes every value as it is. */
type Shaper = ((value: unknown) => unknown) | undefined;

type SchemaParts = Schema & {
  readonly entries?: Record<string, Schema>;
  readonly wrapped?: Schema;
  readonly item?: Schema;
  readonly pipe?: readonly [Schema, ...unknown[]];
};

/**
 * Made once from an operation's result schema. An answer holds exactly the keys that the schema names, so a column
 * that is not part of the interface cannot leak, whatever a service returns. An optional key is left out where it is
 * null, unless its schema takes null: so a service may return a row as it is.
 */
export function shaper<S extends Schema>(schema: S): (value: unknown) => v.InferOutput<S> {
  const shape = shaperOf(schema as SchemaParts);
  return (value) => (shape ? shape(value) : value) as v.InferOutput<S>;
}

function shaperOf(schema: SchemaParts): Shaper {
  if (schema.pipe) return schema.pipe[0] === schema ? plain(schema) : shaperOf(schema.pipe[0] as SchemaParts);
  return plain(schema);
}

function plain(schema: SchemaParts): Shaper {
  if (schema.entries) return object(schema.entries);
  if (schema.item) {
    const shape = shaperOf(schema.item as SchemaParts);
    return shape && ((value) => (value as unknown[]).map(shape));
  }
  if (schema.wrapped) {
    const shape = shaperOf(schema.wrapped as SchemaParts);
    return shape && ((value) => (value === null || value === undefined ? value : shape(value)));
  }
  if (schema.type === "union" || schema.type === "variant" || schema.type === "intersect") {
    throw new Error(`a result schema of type ${schema.type} is not supported; use one object`);
  }
  return undefined;
}

const object = (entries: Record<string, Schema>): Shaper =>
  compileCopy(
    Object.entries(entries).map(([name, of]) => ({
      name,
      optional: of.type === "optional" || of.type === "exact_optional" || of.type === "nullish",
      nullable: v.is(of, null),
      shape: shaperOf(of as SchemaParts),
    })),
  );
