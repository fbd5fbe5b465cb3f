import type { Outbound } from "./drivers/outbound.ts";
import type { Listening } from "./http/server.ts";
import type { Loop } from "./jobs/loop.ts";
import { machineTimer } from "./kernel/clock.ts";
import { reasonOf } from "./kernel/log.ts";
import type { Foundation } from "./open.ts";
import type { LateWrites } from "./store/late.ts";

/** What changes while a service lives. */
export interface Life {
  /** Aborted first of all: nothing new is taken, and what waits is told to go. */
  readonly closing: AbortController;
  listening: Listening[];
}

interface Running {
  readonly features: {
    readonly runners: { close(): Promise<void> };
    readonly generationsProgress: { stop(): void };
  };
  readonly life: Life;
  readonly loop: Loop;
  readonly outbox: { stop(): void };
  readonly outbound: Pick<Outbound, "close">;
  readonly late: LateWrites;
  readonly keepClock: (at: number) => Promise<void>;
}

/** "Finish what is in flight (10 s at most), keep the rest for the next start." */
async function within(wait: string, work: Promise<unknown>): Promise<void> {
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    // It must fire even where nothing else keeps the process alive, or what follows would never be done.
    cancel = machineTimer(wait, resolve, { hold: true });
  });
  await Promise.race([work, over]).finally(() => cancel());
}

/** Ends a service, whatever of it still works: the store is closed and its file let go in any case. */
export async function end({ store, clock, log, release }: Foundation, running: Running): Promise<void> {
  const { life, loop, outbox, outbound, late, keepClock, features } = running;
  life.closing.abort();
  outbox.stop();
  features.generationsProgress.stop();
  try {
    // Painting is cut off at once: it costs nothing to begin anew.
    await features.runners.close();
    await within("10s", Promise.all([...life.listening.map((server) => server.close()), loop.stop()]));
    life.listening = [];
    await outbound.close();
    for (const last of [loop.release, late.flush, () => keepClock(clock.now())]) {
      await last().catch((error) => log.error("closing could not write everything", { reason: reasonOf(error) }));
    }
  } finally {
    late.stop();
    await store.close();
    release();
  }
}
