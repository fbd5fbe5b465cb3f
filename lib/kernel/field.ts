import * as v from "valibot";

/**
 * Adds a description and an example to a schema, for the OpenAPI document, the reference and editors. For fields
 * without an example here, `.scripts/openapi/examples` has one by field name. The description is attached before the schema's
 * transformations, because the documents describe what callers send.
 */
export function field<S extends v.GenericSchema>(schema: S, meaning: string, example?: unknown): S {
  const { pipe: [first, ...rest] = [schema] } = schema as { readonly pipe?: readonly [v.GenericSchema, ...never[]] };
  const examples = example === undefined ? [] : ([v.examples([example])] as unknown as []);
  return v.pipe(first, v.description(meaning), ...examples, ...rest) as unknown as S;
}

export const optionalField = <S extends v.GenericSchema>(schema: S, meaning: string, example?: unknown) =>
  v.optional(field(schema, meaning, example));
