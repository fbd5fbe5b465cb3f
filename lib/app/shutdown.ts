import type { Listening } from "../http/server.ts";
import { systemTimer } from "../kernel/clock.ts";
import { reasonOf } from "../kernel/log.ts";
import type { HostState } from "./snapshots.ts";

/** "Finish what is in flight (10 s at most), keep the rest for the next start." */
async function within(wait: string, work: Promise<unknown>): Promise<void> {
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    // It must fire even where nothing else keeps the process alive, or what follows would never be done.
    cancel = systemTimer(wait, resolve, { hold: true });
  });
  await Promise.race([work, over]).finally(() => cancel());
}

/** Ends a service, whatever of it still works: the store is closed and its file let go in any case. */
export async function shutDown(
  { foundation, parts }: HostState,
  listening: readonly Listening[],
  { isFork }: { readonly isFork: boolean },
): Promise<void> {
  const { store, clock, log, opened } = foundation;
  const { life, loop, features, outbound, late, storeClock } = parts;
  life.closing.abort();
  features.outbox.stop();
  features.execution.stop();
  try {
    // Painting is cut off at once: it costs nothing to begin anew.
    await features.modelDrivers.close();
    await within("10s", Promise.all([...listening.map((server) => server.close()), loop.stop()]));
    const tellUnused = async () => {
      const { unused, isOwn } = features.scenarios;
      // A fork has its parent's, which its parent tells of.
      for (const one of (await unused()).filter((one) => !isFork || isOwn(one)))
        log.warn("a scenario was not used", { match: JSON.stringify(one.match), next: one.next });
    };
    // Released first: what is cut off then has failed for nobody.
    for (const last of [loop.release, outbound.close, late.flush, () => storeClock(clock.now()), tellUnused]) {
      await last().catch((error) => log.error("closing could not write everything", { reason: reasonOf(error) }));
    }
  } finally {
    late.stop();
    await store.close();
    opened.release();
  }
}

/** Ends what another state took the place of, at once: what is on its way is cut off, and nothing is written any more. */
export async function discardState({ foundation, parts }: HostState, successor: HostState): Promise<void> {
  const { store } = foundation;
  const { life, loop, features, outbound, late } = parts;
  store.retire();
  life.closing.abort();
  features.outbox.stop();
  features.execution.stop();
  late.stop();
  await Promise.all([features.modelDrivers.close(), outbound.close(), within("10s", loop.stop())]);
  // A database in a file has been handed on.
  if (store.engine !== successor.foundation.store.engine) await store.close();
}
