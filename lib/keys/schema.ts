import * as v from "valibot";
import { textLike, textOf } from "../kernel/api.ts";
import { scopes } from "../kernel/roles.ts";

/** SPEC "Authentication": "API keys begin with `sk_live_`". A fixed one may be short: CONTRACT section 2. */
export const fixedKey = textLike(
  136,
  /^sk_live_[A-Za-z0-9_]{4,128}$/,
  "must be sk_live_ and 4 to 128 of A-Z, a-z, 0-9 and underscore",
);
export const keyName = textOf(1, 64, { trim: true });
export const keyScopes = v.array(v.picklist(scopes, `must be one of ${scopes.join(", ")}`), "must be a list of scopes");
