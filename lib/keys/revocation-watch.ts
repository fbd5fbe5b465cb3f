import type { ChangeFeed } from "../events/change-feed.ts";
import { type Clock, systemTimer } from "../kernel/clock.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Identity } from "./service.ts";

/** A key that something open hangs on. */
interface Watched {
  readonly lost: Set<() => void>;
  user_id: string | undefined;
  /** Takes the alarm of its expiry back. */
  calm: () => void;
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

  const forget = (token: string, { calm }: Watched) => {
    calm();
    keys.delete(token);
    if (keys.size === 0) stop();
  };

  const judge = async (token: string) => {
    const found = await identify(token);
    const watched = keys.get(token);
    if (!watched) return;
    watched.calm();
    if (found) {
      watched.user_id = found.caller.user_id;
      const { expires_at } = found;
      watched.calm = expires_at === null ? () => {} : clock.alarm(Date.parse(expires_at), () => look(token));
      return;
    }
    forget(token, watched);
    for (const lost of watched.lost) lost();
  };

  /** A store that cannot be read at the moment is asked again a second later. */
  const look = (token: string) =>
    void judge(token).catch((error) => log.warn("a key could not be looked up", { reason: reasonOf(error) }));

  const start = () => {
    const lookAtAll = () => {
      for (const token of keys.keys()) look(token);
      cancel = systemTimer("1s", lookAtAll);
    };
    let cancel = systemTimer("1s", lookAtAll);
    const deaf = feed.listen((change) => {
      if (change.kind !== "rights") return;
      for (const [token, { user_id }] of keys) if (user_id === undefined || user_id === change.user_id) look(token);
    });
    stop = () => {
      cancel();
      deaf();
    };
  };

  /** Calls `lost` once the key stops. Answers how to stop watching. */
  return (token: string, lost: () => void): (() => void) => {
    if (keys.size === 0) start();
    const watched = keys.get(token) ?? { lost: new Set(), user_id: undefined, calm: () => {} };
    keys.set(token, watched);
    watched.lost.add(lost);
    // It may have stopped since the request was let in.
    if (watched.lost.size === 1) look(token);
    return () => {
      watched.lost.delete(lost);
      if (watched.lost.size === 0 && keys.get(token) === watched) forget(token, watched);
    };
  };
}
