import { systemTimer } from "../kernel/clock.ts";
import { isLogged } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "./store.ts";

/**
 * Writes that may be late, such as rate counters and the last use of a key, so that reads need no commit. One
 * transaction a second writes them all. A crash loses at most the last second.
 */
export interface DeferredWrites {
  /** Schedules a flush within a second. */
  schedule(): void;
  /** Writes everything now. */
  flush(): Promise<void>;
  /** Cancels the scheduled flush. */
  stop(): void;
}

export function createDeferredWrites({
  store,
  log,
  writes,
}: {
  store: Store;
  log: Log;
  writes: readonly ((tx: Tx) => Promise<void>)[];
}): DeferredWrites {
  let cancelTimer: (() => void) | undefined;
  const stop = () => {
    cancelTimer?.();
    cancelTimer = undefined;
  };
  const flush = async () => {
    stop();
    await store.transaction("rows", async (tx) => {
      for (const write of writes) await write(tx);
    });
  };
  return {
    schedule() {
      cancelTimer ??= systemTimer("1s", () => {
        flush().catch((error) => {
          if (!isLogged(error)) log.warn("counters could not be written", { reason: reasonOf(error) });
        });
      });
    },
    flush,
    stop,
  };
}
