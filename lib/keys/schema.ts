import * as v from "valibot";
import { scopes } from "../kernel/roles.ts";
import { datetime, id, instantText, oneOf, paging, textLike, textOf, wholeNumber } from "../kernel/validation.ts";

/** SPEC "Authentication": "API keys begin with `sk_live_`". A fixed one may be short: CONTRACT section 2. */
export const fixedKey = textLike(
  136,
  /^sk_live_[A-Za-z0-9_]{4,128}$/,
  "must be sk_live_ and 4 to 128 of A-Z, a-z, 0-9 and underscore",
);
export const keyName = textOf(1, 64, { trim: true });
export const keyScopes = v.array(v.picklist(scopes, `must be one of ${scopes.join(", ")}`), "must be a list of scopes");

/** CONTRACT section 9, `/api-keys`. */
export const apiKey = v.object({
  id: id("key"),
  name: v.string(),
  scopes: v.array(v.string()),
  user_id: id("usr"),
  created_at: datetime(),
  last_used_at: v.nullable(datetime()),
  expires_at: v.nullable(datetime()),
  rate_limit: v.nullable(v.number()),
  created_by_key_id: v.nullable(id("key")),
});
/** `key` is the secret, shown this once. */
export const madeApiKey = v.object({ ...apiKey.entries, key: v.string() });

/** Defaults: the scopes, the expiry and the rate limit of the key that makes it. */
export const newApiKey = v.object({
  name: keyName,
  scopes: v.optional(v.pipe(keyScopes, v.minLength(1, "must have at least one"))),
  expires_at: v.optional(v.nullable(instantText())),
  rate_limit: v.optional(v.nullable(wholeNumber(0, 1_000_000_000))),
});
/** `cascade=true` ends the keys that the key made as well, and theirs. */
export const keyRevocation = v.object({ cascade: v.optional(oneOf(["true", "false"])) });
export const apiKeysQuery = v.object(paging());
