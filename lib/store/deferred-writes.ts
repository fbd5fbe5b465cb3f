import { systemTimer } from "../kernel/clock.ts";
import { isLogged } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "./store.ts";

/** Writes that may be late, so that reads need no commit: one transaction a second. A crash loses the last second. */
export function createDeferredWrites(ports: {
  readonly store: Store;
  readonly log: Log;
  readonly writes: readonly ((tx: Tx) => Promise<void>)[];
}) {
  const { store, log, writes } = ports;
  let cancelTimer: (() => void) | undefined;
  let isFailing = false;
  const stop = (): void => {
    cancelTimer?.();
    cancelTimer = undefined;
  };
  const flush = async (): Promise<void> => {
    stop();
    await store.transaction("rows", async (tx) => {
      for (const write of writes) await write(tx);
    });
    isFailing = false;
  };
  /** Schedules a flush within a second. One that fails is logged, and tried again: what it left asks for no other. */
  const schedule = (): void => {
    cancelTimer ??= systemTimer("1s", () => {
      flush().catch((error) => {
        if (store.ended) return;
        if (!isFailing && !isLogged(error)) log.warn("counters could not be written", { reason: reasonOf(error) });
        isFailing = true;
        schedule();
      });
    });
  };
  return {
    schedule,
    flush,
    stop,
  };
}
