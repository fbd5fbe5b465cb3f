import { isoOf } from "../../kernel/clock.ts";
import { invalid, Problem } from "../../kernel/errors.ts";
import { covers, type Scope } from "../../kernel/roles.ts";
import type { Row } from "../../store/tables.ts";

/** The key that creates another key. The new key never exceeds its limits (schema/records.md#api-keys). */

type Maker = Pick<Row<"api_keys">, "id" | "expires_at" | "rate_limit" | "window_key_id"> | undefined;

export function refuseScopes(own: readonly string[], scopes: readonly Scope[]): void {
  const lacking = scopes.filter((scope) => !covers(own, scope));
  if (lacking.length === 0) return;
  throw new Problem(
    "insufficient_scope",
    `this key cannot give the scopes ${lacking.join(", ")}, because it has only ${own.join(", ")}; leave them out`,
  );
}

/** The expiry of the new key, at most that of its maker. `wanted` is in milliseconds since 1970. */
export function expiryOf(maker: Maker, wanted: number | undefined): string | undefined {
  const latest = maker?.expires_at ?? undefined;
  const expires_at = wanted === undefined ? latest : isoOf(wanted);
  if (latest !== undefined && expires_at !== undefined && expires_at > latest)
    throw invalid("expires_at", `must not be after ${latest}, when the key that makes it expires`);
  return expires_at;
}

/** The key whose rate window the new key shares, if its maker has a limit of its own. */
export const windowOf = (maker: Maker): string | null => maker?.window_key_id ?? (maker?.rate_limit ? maker.id : null);

/**
 * The rate limit of the new key, at most that of its maker; 0 means no limit. `usual` is the limit of keys without
 * their own.
 */
export function rateLimitOf(maker: Maker, given: number | null | undefined, usual: number): number | undefined {
  if (given === undefined || given === null) return maker?.rate_limit ?? undefined;
  const most = maker ? (maker.rate_limit ?? usual) : 0;
  if (most !== 0 && (given === 0 || given > most))
    throw invalid("rate_limit", `must be 1 to ${most}, the rate limit of the key that makes it`);
  return given;
}
