import * as v from "valibot";

/**
 * A schema with its meaning, which the OpenAPI document, the reference and editors show. The meaning stands before what the
 * schema transforms: the documents describe what callers send.
 */
export function field<S extends v.GenericSchema>(schema: S, meaning: string): S {
  const { pipe: [first, ...rest] = [schema] } = schema as { readonly pipe?: readonly [v.GenericSchema, ...never[]] };
  return v.pipe(first, v.description(meaning), ...rest) as unknown as S;
}
