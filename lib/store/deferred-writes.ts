import { systemTimer } from "../kernel/clock.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "./store.ts";

/**
 * Writes that may be a second late, such as rate counters and when keys were last used: reading must not cost a commit.
 * They share one transaction a second, and a crash forgets the last second at most.
 */
export interface DeferredWrites {
  schedule(): void;
  flush(): Promise<void>;
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
  let cancel: (() => void) | undefined;
  const flush = async () => {
    cancel?.();
    cancel = undefined;
    await store.transaction(async (tx) => {
      for (const write of writes) await write(tx);
    });
  };
  return {
    schedule() {
      cancel ??= systemTimer("1s", () => {
        flush().catch((error) =>
          log.warn("counters could not be written", {
            reason: reasonOf(error),
          }),
        );
      });
    },
    flush,
    stop() {
      cancel?.();
      cancel = undefined;
    },
  };
}
