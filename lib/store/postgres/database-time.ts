import { systemTimer } from "../../kernel/clock.ts";
import { monotonicNow } from "../../kernel/node/system.ts";

/** Readings of the database's clock per measurement. The one with the shortest round trip is the most accurate. */
const readings = 4;
const pause = "10s";

/**
 * The database's clock: read every ten seconds, and continued by this machine's monotonic clock. All processes agree on
 * it, whatever their own clocks show, so leases and due times mean the same to each.
 */
export async function followDatabaseTime(read: () => Promise<number>) {
  /** The database's time minus monotonic time. */
  let offset = 0;
  let cancel = () => {};
  let hasEnded = false;
  const measure = async () => {
    let quickest = Number.POSITIVE_INFINITY;
    let found = offset;
    for (let i = 0; i < readings; i++) {
      const sent = monotonicNow();
      const at = await read();
      const took = monotonicNow() - sent;
      if (took >= quickest) continue;
      quickest = took;
      found = at - sent - took / 2;
    }
    offset = found;
  };
  const measureLater = () => {
    // If the database is unreachable, the monotonic clock continues from the last reading.
    const again = () =>
      void measure()
        .catch(() => {})
        .then(measureLater);
    if (!hasEnded) cancel = systemTimer(pause, again);
  };
  await measure();
  measureLater();
  return {
    now: (): number => Math.floor(offset + monotonicNow()),
    stop(): void {
      hasEnded = true;
      cancel();
    },
  };
}
