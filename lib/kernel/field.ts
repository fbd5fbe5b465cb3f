import * as v from "valibot";

/** Describes what callers send. Without an example here, `.scripts/openapi/examples` has one by field name. */
export function field<S extends v.GenericSchema>(schema: S, meaning: string, example?: unknown): S {
  const { pipe: [first, ...rest] = [schema] } = schema as { readonly pipe?: readonly [v.GenericSchema, ...never[]] };
  const examples = example === undefined ? [] : ([v.examples([example])] as unknown as []);
  return v.pipe(first, v.description(meaning), ...examples, ...rest) as unknown as S;
}

export const optionalField = <S extends v.GenericSchema>(schema: S, meaning: string, example?: unknown) =>
  v.optional(field(schema, meaning, example));
