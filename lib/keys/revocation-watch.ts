import type { ChangeFeed } from "../events/change-feed.ts";
import { type Clock, machineTimer } from "../kernel/clock.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Identity } from "./service.ts";

/** A key that something open hangs on. */
interface Watched {
  readonly onRevoked: Set<() => void>;
  user_id: string | undefined;
  /** Takes the alarm of its expiry back. */
  cancelAlarm: () => void;
}

/**
 * Tells when a key stops, for what outlasts a request: at once where this process revokes it or it expires, and within a
 * second where another process does, such as `svc-server keys revoke`. However much hangs on a key, it is looked at once.
 */
export function createKeyWatch(ports: {
  feed: ChangeFeed;
  clock: Clock;
  log: Log;
  identify: (token: string) => Promise<Identity | undefined>;
}) {
  const { feed, clock, log, identify } = ports;
  const keys = new Map<string, Watched>();
  let stop = () => {};

  const forget = (token: string, { cancelAlarm }: Watched) => {
    cancelAlarm();
    keys.delete(token);
    if (keys.size === 0) stop();
  };

  const check = async (token: string) => {
    const found = await identify(token);
    const watched = keys.get(token);
    if (!watched) return;
    watched.cancelAlarm();
    if (found) {
      watched.user_id = found.caller.user_id;
      const { expires_at } = found;
      watched.cancelAlarm =
        expires_at === null ? () => {} : clock.alarm(Date.parse(expires_at), () => checkSoon(token));
      return;
    }
    forget(token, watched);
    for (const lost of watched.onRevoked) lost();
  };

  /** A store that cannot be read at the moment is asked again a second later. */
  const checkSoon = (token: string) =>
    void check(token).catch((error) => log.warn("a key could not be looked up", { reason: reasonOf(error) }));

  const start = () => {
    const lookAtAll = () => {
      for (const token of keys.keys()) checkSoon(token);
      cancel = machineTimer("1s", lookAtAll);
    };
    let cancel = machineTimer("1s", lookAtAll);
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

  /** Calls `lost` once the key stops. Answers how to stop watching. */
  return (token: string, lost: () => void): (() => void) => {
    if (keys.size === 0) start();
    const watched = keys.get(token) ?? { onRevoked: new Set(), user_id: undefined, cancelAlarm: () => {} };
    keys.set(token, watched);
    watched.onRevoked.add(lost);
    // It may have stopped since the request was let in.
    if (watched.onRevoked.size === 1) checkSoon(token);
    return () => {
      watched.onRevoked.delete(lost);
      if (watched.onRevoked.size === 0 && keys.get(token) === watched) forget(token, watched);
    };
  };
}
