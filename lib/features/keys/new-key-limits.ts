import * as v from "valibot";
import { isoOf } from "../../kernel/clock.ts";
import { Problem, refuseBroken } from "../../kernel/errors.ts";
import { covers, type Scope } from "../../kernel/roles.ts";
import type { Row } from "../../store/tables.ts";

/** The key that creates another key. The new key never exceeds its limits (schema/records.md#api-keys). */
type Maker = Pick<Row<"api_keys">, "id" | "expires_at" | "rate_limit" | "shared_windows"> | undefined;

export function refuseScopes(own: readonly string[], scopes: readonly Scope[]): void {
  const lacking = scopes.filter((scope) => !covers(own, scope));
  if (lacking.length === 0) return;
  throw new Problem(
    "insufficient_scope",
    `this key cannot give the scopes ${lacking.join(", ")}, because it has only ${own.join(", ")}; leave them out`,
  );
}

/** The rule that an expiry breaks: it lies in the future, and not after that of the maker. */
function ruleOfExpiry(maker: Maker, wanted: number | undefined, now: number): string | undefined {
  if (wanted === undefined) return undefined;
  if (wanted <= now) return "must be in the future";
  const latest = maker?.expires_at ?? undefined;
  return latest !== undefined && isoOf(wanted) > latest
    ? `must not be after ${latest}, when the key that makes it expires`
    : undefined;
}

/** A key whose rate window counts a request, and the limit of that window. Null means the limit of the service. */
export type CountedWindow = readonly [key_id: string, limit: number | null];
const stored = v.array(v.tuple([v.string(), v.nullable(v.number())]));
/** The limit of windows per key, because each one counts every request. */
const maxWindows = 8;

/** The windows that count the requests of a key. If its limit is that of its maker, the maker's windows suffice. */
export function windowsOf(key_id: string, rate_limit: number | null, shared_windows: string | null): CountedWindow[] {
  const shared = v.parse(stored, JSON.parse(shared_windows ?? "[]"));
  return shared[0]?.[1] === rate_limit ? shared : [[key_id, rate_limit], ...shared];
}

const ownWindows = ({ id, rate_limit, shared_windows }: NonNullable<Maker>) =>
  windowsOf(id, rate_limit, shared_windows);

/** The windows that the new key shares with its maker, if the maker has a limit. */
export const sharedWindowsOf = (maker: Maker): string | null =>
  maker?.rate_limit ? JSON.stringify(ownWindows(maker)) : null;

/** The rule that a rate limit breaks: it is at most that of the maker; 0 means none. */
function ruleOfRateLimit(maker: Maker, given: number | null | undefined, usual: number): string | undefined {
  if (given === undefined || given === null) return undefined;
  const most = maker ? (maker.rate_limit ?? usual) : 0;
  if (most !== 0 && (given === 0 || given > most))
    return `must be 1 to ${most}, the rate limit of the key that makes it`;
  return maker?.rate_limit && given < most && ownWindows(maker).length >= maxWindows
    ? `must be left out or ${most}: ${maxWindows} keys above it have lowered it already`
    : undefined;
}

/** What the caller asks for; `expires_at` is in milliseconds since 1970. */
interface Wanted {
  readonly expires_at: number | undefined;
  readonly rate_limit?: number | null | undefined;
}

/** The expiry and the rate limit of the new key. `usual` is the limit of keys that set none. */
export function limitsOf(maker: Maker, { expires_at, rate_limit }: Wanted, usual: number, now: number) {
  refuseBroken([
    ["expires_at", ruleOfExpiry(maker, expires_at, now)],
    ["rate_limit", ruleOfRateLimit(maker, rate_limit, usual)],
  ]);
  return {
    expires_at: expires_at === undefined ? (maker?.expires_at ?? undefined) : isoOf(expires_at),
    rate_limit: rate_limit ?? maker?.rate_limit ?? undefined,
  };
}
