import { systemTimer } from "../kernel/clock.ts";
import { reasonOf } from "../kernel/log.ts";
import { formatDuration } from "../kernel/text/duration.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { dueTimesRepository } from "../store/due-times.ts";
import { writeTime } from "../store/service-state.ts";
import type { Foundation } from "./open-store.ts";

/**
 * Follows the machine's clock when it is set, while the service runs or before it starts. One transaction moves the
 * clock and all due times, so waiting work keeps its remaining time. Then `moved` is called. If the database's clock
 * was ahead at the start, the start has already warned about it.
 */
export function followMachineClock(foundation: Foundation, moved: () => void): void {
  const { store, clock, log, serviceState, opened } = foundation;
  const dueTimes = store.using(dueTimesRepository);
  let busy = false;
  let isTold = foundation.clockWarning !== undefined;

  /** Processes that share a database show its time. Each moves its own clock; only the first also moves the rows. */
  const hasFollowed = async (tx: Tx) =>
    opened.cluster !== undefined && (await serviceState(tx).read({ name: "clock_mode" }))?.value === "real";

  const follow = async () => {
    const from = clock.iso();
    let by = 0;
    try {
      await store.transaction("all", async (tx) => {
        // The transaction may be retried, so an earlier try's shift is undone first.
        clock.shift(-by);
        by = clock.setBy();
        if (by === 0) return;
        clock.shift(by);
        if (await hasFollowed(tx)) return;
        for (const shift of dueTimes(tx).shifts) await shift({ by: String(by / 1_000) });
        await writeTime(serviceState(tx), clock.iso(), clock);
      });
    } catch (error) {
      // The rows were rolled back, so the clock is moved back, too.
      clock.shift(-by);
      throw error;
    }
    if (by === 0) return;
    const amount = formatDuration(Math.round(Math.abs(by) / 1_000) * 1_000);
    const [direction, why] = by < 0 ? ["back", ""] : ["forward", " (it was set, or the machine slept)"];
    if (!isTold)
      log.warn(
        `the machine's clock went ${direction} by ${amount}, from ${from} to ${clock.iso()}${why}; waiting work keeps its remaining time`,
      );
    isTold = false;
    moved();
  };

  clock.whenSet(() => {
    if (busy || store.retired) return;
    busy = true;
    const end = () => {
      busy = false;
    };
    // Deferred, because this runs while the clock is being read, possibly inside a transaction.
    systemTimer(0, () => {
      follow().then(end, (error) => {
        if (store.retired) return;
        log.warn("due times could not be moved with the machine's clock yet", { reason: reasonOf(error) });
        systemTimer("1s", end);
      });
    });
  });
}
