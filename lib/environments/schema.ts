import * as v from "valibot";
import { textLike, textOf } from "../kernel/api.ts";

export const environmentName = textLike(
  64,
  /^[A-Za-z0-9._-]{1,64}$/,
  "must be 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen",
);

const variableName = textLike(128, /^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be named with A-Z, a-z, 0-9 and underscore");
const value = textOf(0, 32_768);

/** Plain as text, secret as `{"value": "…", "secret": true}`. */
export const variables = v.record(
  variableName,
  v.union([value, v.strictObject({ value, secret: v.boolean() })], 'must be text, or {"value", "secret"}'),
);
