import { type Clock, systemTimer } from "../../kernel/clock.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import { createTurns } from "../../kernel/node/event-loop.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { Identity } from "./identities.ts";

interface Watched {
  readonly listeners: Set<() => void>;
  user_id: string | undefined;
  cancelAlarm: () => void;
}

/**
 * Watches the keys of open streams and waiting requests. Listeners are called as soon as a key expires or this
 * process revokes it, and within a second when another process does, such as `svc-server keys revoke`. A key is read
 * once for all its listeners.
 */
export function createKeyWatch(ports: {
  feed: ChangeFeed;
  clock: Clock;
  log: Log;
  identify: (token: string) => Identity | undefined | Promise<Identity | undefined>;
}) {
  const { feed, clock, log, identify } = ports;
  const keys = new Map<string, Watched>();
  // A key may have thousands of listeners.
  const turns = createTurns((error) => log.error("a stream could not be ended", { reason: reasonOf(error) }), 64);
  let stop = () => {};

  const forget = (token: string, { cancelAlarm }: Watched) => {
    cancelAlarm();
    keys.delete(token);
    if (keys.size === 0) stop();
  };

  const check = async (token: string) => {
    const identity = await identify(token);
    const watched = keys.get(token);
    if (!watched) return;
    watched.cancelAlarm();
    if (identity) {
      watched.user_id = identity.caller.user_id;
      const { expires_at } = identity;
      watched.cancelAlarm =
        expires_at === null ? () => {} : clock.alarm(Date.parse(expires_at), () => checkSoon(token));
      return;
    }
    forget(token, watched);
    for (const onRevoked of watched.listeners) turns(() => watched.listeners.has(onRevoked) && onRevoked());
  };

  /** If the store cannot be read, the check repeats after a second. */
  const checkSoon = (token: string) =>
    void check(token).catch((error) => log.warn("a key could not be looked up", { reason: reasonOf(error) }));

  const start = () => {
    const checkAll = () => {
      for (const token of keys.keys()) checkSoon(token);
      cancel = systemTimer("1s", checkAll);
    };
    let cancel = systemTimer("1s", checkAll);
    const unsubscribe = feed.listen((change) => {
      if (change.kind !== "rights") return;
      for (const [token, { user_id }] of keys)
        if (user_id === undefined || user_id === change.user_id) checkSoon(token);
    });
    stop = () => {
      cancel();
      unsubscribe();
    };
  };

  /** Calls `onRevoked` once when the key stops working. Returns a function that ends the watch. */
  return (token: string, onRevoked: () => void): (() => void) => {
    if (keys.size === 0) start();
    const watched = keys.get(token) ?? { listeners: new Set(), user_id: undefined, cancelAlarm: () => {} };
    keys.set(token, watched);
    watched.listeners.add(onRevoked);
    // The key may have been revoked since the request was authenticated.
    if (watched.listeners.size === 1) checkSoon(token);
    return () => {
      watched.listeners.delete(onRevoked);
      if (watched.listeners.size === 0 && keys.get(token) === watched) forget(token, watched);
    };
  };
}
