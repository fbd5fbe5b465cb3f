import { Problem } from "../kernel/errors.ts";
import { anonymous, type Caller } from "../kernel/operation.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { WatchKey } from "./limits/cancellation.ts";
import type { RateLimits, WhenFull, Window } from "./rate-limit.ts";
import type { RequestContext } from "./request-context.ts";

/** The user of a key. `isCurrent` is called within a transaction: true if the user is certainly unchanged. */
interface Identity {
  readonly caller: Caller;
  /** The windows that count the request, each with the limit of its key; null if the key has the default limit. */
  readonly windows: readonly (readonly [key_id: string, limit: number | null])[];
  isCurrent(): boolean;
}

/** Finds the user of a key. A port, because `http` imports no feature. */
export type Identify = (token: string, tx?: Tx) => Identity | undefined | Promise<Identity | undefined>;

export interface Authentication {
  /** `anonymous` without a valid key, or if no key is needed. */
  readonly caller: Caller;
  /** Null without a valid key. */
  readonly key_id: string | null;
  readonly token: string | undefined;
  /** The rate-limit window that counted the request; undefined if none did. */
  readonly window: Window | undefined;
  /** Within a transaction: true if the caller certainly still has these rights. */
  isCurrent(): boolean;
  /** 401, 403 or 429; undefined if the request may proceed. Refused requests are counted too. */
  readonly refusal: Problem | undefined;
}

/** For a request that needs no key and is not counted. */
export const unauthenticated: Authentication = {
  caller: anonymous,
  key_id: null,
  token: undefined,
  window: undefined,
  isCurrent: () => false,
  refusal: undefined,
};

export type Authenticator = ReturnType<typeof createAuthenticator>;

const bearer = /^Bearer +(sk_live_[A-Za-z0-9_]{4,128}) *$/i;
const tokenIn = (text: string | undefined) => bearer.exec(text ?? "")?.[1];
const bucketOf = (request: RequestContext) => `address ${request.address() ?? "in process"}`;

/** The /48 network of an IPv6 address. A provider may give a customer a whole one, or a part of one. */
const siteOf = (request: RequestContext) => /^(?:[\da-f]+:){2}[\da-f]+(?=:)/.exec(request.address() ?? "")?.[0];
/** How many times the limit of an address a /48 network has, for its requests without a valid key. */
const limitsOfSite = 4;

/** The same text for all reasons reveals nothing about a key. A preflight gets here if `cors` forbids its origin. */
const unauthorized = (request?: RequestContext) => {
  const isPreflight = request?.method === "OPTIONS" && request.header("access-control-request-method") !== undefined;
  const origin = isPreflight ? request.header("origin") : undefined;
  const message = origin
    ? `pages of ${origin} must not call this service; allow the origin with the option cors`
    : "send a valid API key as Authorization: Bearer sk_live_…";
  return new Problem("unauthorized", message, { headers: { "www-authenticate": "Bearer" } });
};

const exceeded = ({ allowed, limit, retry_after, isManual }: Window) => {
  if (allowed) return undefined;
  const wait = isManual
    ? `the clock does not run, so advance it by ${retry_after} seconds (service.clock.advance, POST /_svc/clock/advance), or raise the limit`
    : `wait ${retry_after} seconds`;
  return new Problem("rate_limited", `the ${limit} requests of this window are used up; ${wait}`, {
    headers: { "retry-after": String(retry_after) },
  });
};

/** The caller of a write, who is identified again in the transaction. */
export const confirmedBy =
  (identify: Identify) =>
  ({ caller, token, isCurrent }: Authentication): Caller => ({
    ...caller,
    hooks: {
      prefetch: (tx) => [isCurrent() || identify(token ?? "", tx)],
      async before(tx) {
        if (isCurrent()) return;
        const now = (await identify(token ?? "", tx))?.caller;
        if (!now) throw unauthorized();
        const changed = `the role of the key's user has changed to ${now.role}; send the request again`;
        if (now.role !== caller.role) throw new Problem("insufficient_role", changed);
      },
    },
  });

export function createAuthenticator(ports: {
  identify: Identify;
  watchKey: WatchKey;
  windows: RateLimits;
  /** Requests per window for a key: `own` is its own limit, or null for the default. */
  keyLimit: (own: number | null) => number;
  /** Option `addressRateLimit`: requests per window from one address without a valid key. */
  addressRateLimit: number;
}) {
  const { identify, windows, keyLimit, addressRateLimit } = ports;

  const takeAddress = async (request: RequestContext, whenFull?: WhenFull): Promise<Window> => {
    const network = siteOf(request);
    const [site, limit] = [`site ${network}`, limitsOfSite * addressRateLimit];
    const ofSite = network && windows.look(site, limit);
    // If the network's window is used up, its addresses are not counted: they would fill the memory.
    if (ofSite && !ofSite.allowed) return ofSite;
    const own = await windows.take(bucketOf(request), addressRateLimit, whenFull);
    // A request that the address's own window refuses does not count for its network.
    if (!network || !own.allowed) return own;
    const whole = await windows.take(site, limit, "not counted");
    return whole.allowed ? own : whole;
  };

  /** Counts a request in each window, until one is used up. Returns the window with the fewest requests left. */
  const takeEach = async (counted: Identity["windows"]): Promise<Window | undefined> => {
    let nearest: Window | undefined;
    for (const [key_id, limit] of counted) {
      const next = await windows.take(key_id, keyLimit(limit));
      if (!next.allowed) return next;
      if (!nearest || next.remaining < nearest.remaining) nearest = next;
    }
    return nearest;
  };

  const byToken = async (request: RequestContext, token: string | undefined): Promise<Authentication> => {
    const identity = token === undefined ? undefined : await identify(token);
    if (!identity) {
      const window = await takeAddress(request);
      return { ...unauthenticated, token, window, refusal: exceeded(window) ?? unauthorized(request) };
    }
    const { caller, isCurrent } = identity;
    const window = await takeEach(identity.windows);
    return { caller, key_id: caller.key_id, token, window, isCurrent, refusal: window && exceeded(window) };
  };

  const withoutKey = async (request: RequestContext, whenFull?: WhenFull): Promise<Authentication> => {
    const window = await takeAddress(request, whenFull);
    return { ...unauthenticated, window, refusal: exceeded(window) };
  };

  return {
    /** By the key in the header; counts for the key. Without a valid key: 401, and counts for the address. */
    byKey: (request: RequestContext) => byToken(request, tokenIn(request.header("authorization"))),
    /** By a key that is sent after the request, because browsers cannot send headers with a WebSocket. */
    byLateKey: (request: RequestContext, key: string) =>
      byToken(request, tokenIn(`Bearer ${key.replace(/^Bearer +/i, "")}`)),
    /** Needs no key; counts for the address. */
    byAddress: (request: RequestContext) => withoutKey(request),
    /** Like `byAddress`, for sign-ins: a flood from many addresses must not stop sign-ins from other addresses. */
    bySignIn: (request: RequestContext) => withoutKey(request, "not counted"),
    confirmed: confirmedBy(identify),
    watch: ({ token }: Authentication, lost: () => void) =>
      token === undefined ? () => {} : ports.watchKey(token, lost),
    /** The window of the address, without counting the request. */
    look: (request: RequestContext) => windows.look(bucketOf(request), addressRateLimit),
  };
}
