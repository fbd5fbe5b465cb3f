import * as v from "valibot";

/**
 * Adds a meaning and an example to a schema, for the OpenAPI document, the reference and editors. `openapi/examples` has the
 * examples by the name of a field, for fields without one here. The meaning comes before the transformations of the schema,
 * because the documents describe what callers send.
 */
export function field<S extends v.GenericSchema>(schema: S, meaning: string, example?: unknown): S {
  const { pipe: [first, ...rest] = [schema] } = schema as { readonly pipe?: readonly [v.GenericSchema, ...never[]] };
  const examples = example === undefined ? [] : ([v.examples([example])] as unknown as []);
  return v.pipe(first, v.description(meaning), ...examples, ...rest) as unknown as S;
}
