import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { scopes } from "../../kernel/roles.ts";
import { listOf } from "../../kernel/size-limits.ts";
import { datetime, id, instantText, querySwitch, textLike, textOf, wholeNumber } from "../../kernel/validation.ts";

/** The value of a key in tests. It may be short. */
export const fixedKey = textLike(
  136,
  /^sk_live_[A-Za-z0-9_]{4,128}$/,
  "must be sk_live_ and 4 to 128 of A-Z, a-z, 0-9 and underscore",
);
export const keyName = textOf(1, 64, { trim: true });
export const keyScopes = listOf(
  v.picklist(scopes, `must be one of ${scopes.join(", ")}`),
  10_000,
  "must be a list of scopes",
);

export const apiKey = field(
  v.object({
    id: field(id("key"), "The identifier of the key."),
    name: field(v.string(), "A name for people.", "ci"),
    scopes: field(v.array(v.string()), "What the key may do, within the role of its user; `*` is everything."),
    user_id: field(id("usr"), "The user whom the key acts for."),
    created_at: field(datetime(), "When the key was created."),
    last_used_at: field(v.nullable(datetime()), "When the key was last used; null for never."),
    expires_at: field(v.nullable(datetime()), "When the key stops working; null for never."),
    rate_limit: field(
      v.nullable(v.number()),
      "Requests per window of ten minutes; 0 for no limit, null for the limit of the service.",
    ),
    created_by_key_id: field(
      v.nullable(id("key")),
      "The key that created this key; null if a person or a command did.",
    ),
  }),
  "An API key, without its secret.",
);
export const madeApiKey = field(
  v.object({ ...apiKey.entries, key: field(v.string(), "The key itself, shown only here.") }),
  "A new API key, with the key itself, which is shown once.",
);

/** The scopes, the expiry and the rate limit default to those of the calling key. */
export const newApiKey = v.object({
  name: field(keyName, "A name for people.", "ci"),
  scopes: optionalField(
    v.pipe(keyScopes, v.minLength(1, "must have at least one")),
    "What the key may do, within the scopes of the calling key. By default the same scopes.",
  ),
  expires_at: optionalField(
    v.nullable(instantText()),
    "When the key stops working, in ISO 8601; by default when the calling key does. null means never.",
  ),
  rate_limit: optionalField(
    v.nullable(wholeNumber(0, 1_000_000_000)),
    "Requests per window of ten minutes; by default the limit of the calling key. 0 means no limit.",
  ),
});
export const keyRevocation = v.object({
  cascade: optionalField(
    querySwitch(),
    "`true` also revokes the keys that this key created, and the keys that those created; `false` by default.",
  ),
});
