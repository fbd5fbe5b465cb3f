import { inScope, type Need, rolesFor } from "../../kernel/roles.ts";
import { session } from "./api.ts";

/** Why the acting person may not do something; undefined if they may. */
export function refusal(need: Need): string | undefined {
  const who = session.value;
  if (!who) return "Sign in first.";
  const roles = rolesFor(need);
  if (!roles.includes(who.role)) return `Your role ${who.role} cannot do this; it needs ${roles.join(" or ")}.`;
  return scopeRefusal(need);
}

/** Like `refusal`, for rights over one's own records, which every role has: only the key's scopes count. */
export function scopeRefusal(need: Need): string | undefined {
  const has = inScope(session.value?.scopes ?? [], need);
  return has ? undefined : `Your API key lacks the scope ${need}.`;
}
