import { systemTimer } from "../kernel/clock.ts";
import { monotonicNow } from "../kernel/system.ts";

/** The number of readings of the database's clock. The quickest one is the most exact. */
const readings = 4;
const pause = "10s";

export interface DatabaseTime {
  now(): number;
  stop(): void;
}

/**
 * The clock of the database, from a reading of it every ten seconds and this machine's steady time between. All processes show
 * it, whatever their machines show, so leases and due times mean the same to each.
 */
export async function followDatabaseTime(read: () => Promise<number>): Promise<DatabaseTime> {
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
    // While the database is away, the steady time goes on.
    const again = () =>
      void measure()
        .catch(() => {})
        .then(measureLater);
    if (!hasEnded) cancel = systemTimer(pause, again);
  };
  await measure();
  measureLater();
  return {
    now: () => Math.floor(offset + monotonicNow()),
    stop() {
      hasEnded = true;
      cancel();
    },
  };
}
