import { Problem } from "../kernel/errors.ts";
import { anonymous, type Caller } from "../kernel/operation.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { WatchKey } from "./cancellation.ts";
import type { Window, Windows } from "./rate-limit.ts";
import type { RequestContext } from "./request-context.ts";

/** The caller of a key. `isCurrent` is called within a transaction. */
interface Identity {
  readonly caller: Caller;
  readonly rate_limit: number | null;
  isCurrent(): boolean;
}

/** `keys` knows; this folder knows no feature. */
export type Identify = (token: string, tx?: Tx) => Promise<Identity | undefined>;

export interface Authenticator {
  /** Who calls; counts the request. Throws 401 or 429. */
  enter(exchange: RequestContext, needsKey: boolean): Promise<Caller>;
  /** Who calls, by a key that came later than the request; counts it. Throws 401 or 429. */
  knock(exchange: RequestContext, key: string): Promise<Caller>;
  /** Calls `lost` when the key of the request stops. Answers how to stop watching. */
  watch(exchange: RequestContext, lost: () => void): () => void;
  /** Shows the address's bucket without counting. */
  look(exchange: RequestContext): void;
  /** The caller of a write, who is asked for again in its transaction: 401 or 403 where the rights are other ones now. */
  confirmed(exchange: RequestContext, caller: Caller): Caller;
}

const bearer = /^Bearer +(sk_live_[A-Za-z0-9_]{4,128}) *$/i;

export function createAuthenticator(ports: {
  identify: Identify;
  watchKey: WatchKey;
  windows: Windows;
  /** Option `rateLimit`: requests a window, for each key without a limit of its own. */
  rateLimit: number;
  /** Option `addressRateLimit`: requests a window without a valid key, for each address. */
  addressRateLimit: number;
}): Authenticator {
  const { identify, windows, rateLimit, addressRateLimit } = ports;
  const bucket = (exchange: RequestContext) => `address ${exchange.address() ?? "in process"}`;

  /** The request is counted: in this window, where there may be no room. */
  const pass = (exchange: RequestContext, window: Window) => {
    exchange.window = window;
    if (window.allowed) return;
    const { limit, retry_after } = window;
    throw new Problem("rate_limited", `the ${limit} requests of this window are used up; wait ${retry_after} seconds`, {
      headers: { "retry-after": String(retry_after) },
    });
  };

  const tokenOf = (exchange: RequestContext) => {
    exchange.token ??= bearer.exec(exchange.header("authorization") ?? "")?.[1];
    return exchange.token;
  };
  // One text for every reason, so that nothing can be learnt from it.
  const unauthorized = () =>
    new Problem("unauthorized", "send a valid API key as Authorization: Bearer sk_live_…", {
      headers: { "www-authenticate": "Bearer" },
    });

  const admit = async (exchange: RequestContext): Promise<Caller> => {
    const token = tokenOf(exchange);
    const found = token === undefined ? undefined : await identify(token);
    if (!found) {
      pass(exchange, await windows.take(bucket(exchange), addressRateLimit));
      throw unauthorized();
    }
    exchange.key_id = found.caller.key_id;
    exchange.isCurrent = found.isCurrent;
    pass(exchange, await windows.take(found.caller.key_id, found.rate_limit ?? rateLimit));
    return found.caller;
  };

  const stroll = async (exchange: RequestContext): Promise<Caller> => {
    pass(exchange, await windows.take(bucket(exchange), addressRateLimit));
    return anonymous;
  };

  return {
    enter: (exchange, needsKey) => (needsKey ? admit(exchange) : stroll(exchange)),
    knock(exchange, key) {
      exchange.token = bearer.exec(`Bearer ${key.replace(/^Bearer +/i, "")}`)?.[1];
      return admit(exchange);
    },
    confirmed: (exchange, caller) => ({
      // Before the others: Node 20 takes ten times as long for a key that comes after them.
      async recheckRights(tx) {
        if (exchange.isCurrent()) return;
        const now = (await identify(tokenOf(exchange) ?? "", tx))?.caller;
        if (!now) throw unauthorized();
        if (now.role !== caller.role) {
          throw new Problem(
            "insufficient_role",
            `the role of the key's user is ${now.role} by now; send the request again`,
          );
        }
      },
      ...caller,
    }),
    watch(exchange, lost) {
      const token = tokenOf(exchange);
      return token === undefined ? () => {} : ports.watchKey(token, lost);
    },
    look(exchange) {
      exchange.window = windows.look(bucket(exchange), addressRateLimit);
    },
  };
}
