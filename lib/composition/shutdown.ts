import type { Scenario } from "../features/scenarios/service.ts";
import { shuttingDown } from "../http/limits/cancellation.ts";
import type { Listening } from "../http/server.ts";
import { isLogged } from "../kernel/errors.ts";
import { reasonOf } from "../kernel/log.ts";
import { within } from "../kernel/node/promises.ts";
import { stateReplaced } from "../store/store.ts";
import type { Runtimes } from "./runtimes.ts";
import type { HostState } from "./wiring.ts";

/**
 * Ends a service. Closes the store and releases its file even if a step fails. Returns the scenarios that were never
 * used.
 */
export async function shutDown(
  { foundation, wiring }: HostState,
  listening: readonly Listening[],
  runtimes: Runtimes,
  { isFork }: { readonly isFork: boolean },
): Promise<readonly Scenario[]> {
  const { store, clock, log, opened } = foundation;
  const { closing, loop, features, outbound, mailer, deferredWrites, storeClock, running } = wiring;
  let unused: readonly Scenario[] = [];
  closing.abort(shuttingDown());
  features.outbox.stop();
  features.execution.stop();
  try {
    // Generation on this machine stops at once: starting it again costs nothing.
    await features.modelDrivers.close();
    const servers = listening.map((server) => server.close());
    const ended = Promise.all([...servers, running.ended(), features.apps.close(runtimes.close()), loop.stop()]);
    // `hold` keeps the process alive: otherwise it could exit here, before the rest of the shutdown.
    await within("10s", ended, undefined, { hold: true });
    const warnOfUnused = async () => {
      const { scenarios } = features;
      // A fork also holds its parent's scenarios, which the parent reports.
      unused = (await scenarios.unused()).filter((one) => !isFork || scenarios.isOwn(one));
      for (const scenario of unused)
        log.warn("a scenario was not used", { match: JSON.stringify(scenario.match), next: scenario.next });
    };
    const closeMailer = async () => mailer?.close();
    const saveTime = () => storeClock(clock.now());
    // Jobs are released first, so that requests cut off afterwards do not count as failed attempts.
    for (const step of [loop.release, outbound.close, closeMailer, deferredWrites.flush, saveTime, warnOfUnused]) {
      await step().catch((error) => {
        if (!isLogged(error)) log.error("some writes failed while the service closed", { reason: reasonOf(error) });
      });
    }
  } finally {
    deferredWrites.stop();
    await store.close();
    opened.release();
    runtimes.release();
  }
  return unused;
}

/** Ends a replaced state: aborts its requests, and writes nothing more. */
export async function discardState({ foundation, wiring }: HostState, successor: HostState): Promise<void> {
  const { store } = foundation;
  const { closing, loop, features, outbound, mailer, deferredWrites } = wiring;
  store.retire();
  closing.abort(stateReplaced());
  features.outbox.stop();
  features.execution.stop();
  deferredWrites.stop();
  mailer?.close();
  await Promise.all([
    features.modelDrivers.close(),
    outbound.close(),
    within("10s", loop.stop(), undefined, { hold: true }),
  ]);
  // The next state uses the same database file; only a database in memory is closed.
  if (store.engine !== successor.foundation.store.engine) await store.close();
}
