import { setMaxListeners } from "node:events";
import type { Settings } from "../config/parse-options.ts";
import { callsOf } from "../control/calls.ts";
import { createControl } from "../control/control.ts";
import { createAssets } from "../downloads/asset-downloads.ts";
import { createOutbound } from "../drivers/outbound/outbound.ts";
import { stream } from "../events/operations.ts";
import { createMetrics } from "../health/metrics.ts";
import { createHealth } from "../health/probes.ts";
import { createHooks } from "../hooks/code-host-pushes.ts";
import { createWriter } from "../http/answer.ts";
import { type App, createApp } from "../http/app.ts";
import { createAuthenticator } from "../http/authenticate.ts";
import { createIdempotency } from "../http/idempotency.ts";
import { createWindows } from "../http/rate-limit.ts";
import { createMeter } from "../http/request-metrics.ts";
import { createFaults } from "../instruments/faults.ts";
import { createInbox } from "../instruments/inbox.ts";
import { createJournal } from "../instruments/journal.ts";
import { createReceivedDeliveries } from "../instruments/received-deliveries.ts";
import { createLoop, type Loop } from "../jobs/loop.ts";
import { type PeriodicJob, periodicJobs } from "../jobs/periodic.ts";
import { createRunner } from "../jobs/runner.ts";
import { isoOf, latestInstant } from "../kernel/clock.ts";
import { invalid } from "../kernel/errors.ts";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { createLive } from "../live/websocket.ts";
import { operations } from "../operations.ts";
import { createDeferredWrites } from "../store/deferred-writes.ts";
import { createFeatures, jobs } from "./features.ts";
import type { Foundation } from "./open-store.ts";
import type { Advanced } from "./service-facade.ts";
import type { HostContext } from "./snapshots.ts";

export type Wiring = ReturnType<typeof wire>;

/** Wires features, job loop and interface together. */
export function wire(
  foundation: Foundation,
  settings: Settings,
  { listening, known, sinks, snapshots, iso }: HostContext,
) {
  const { store, clock, log, ids, random, kept, assets, encryption } = foundation;
  /** Aborted first of all: nothing new is taken, and what waits is told to go. */
  const life = { closing: new AbortController() };
  // Everything that waits listens to it, and Node would take the eleventh for a leak.
  setMaxListeners(0, life.closing.signal);
  const origin = () => settings.publicUrl?.replace(/\/$/, "") ?? listening[0]?.url ?? "http://localhost";
  const network = createOutbound({ mode: settings.mode, allow: settings.outbound.allow });
  const inbox = createInbox(network, settings.transport, clock.iso, sinks);
  const arrivals = createReceivedDeliveries(inbox, clock);
  const outbound = settings.mode === "dev" ? arrivals : network;
  const features = createFeatures(foundation, settings, { wake: (at) => loop.wake(at), origin, outbound });
  const windows = createWindows({ store, clock, dirty: () => late.schedule() });
  const late = createDeferredWrites({ store, log, writes: [windows.flush, features.keys.flush] });
  const idempotency = createIdempotency({ store, clock, encryption });

  const prune = async () => {
    const { mails, invitations, pushes, outbox, generations } = features;
    for (const one of [idempotency, windows, mails, invitations, pushes, outbox, generations]) await one.prune();
  };
  const periodic: PeriodicJob[] = [{ kind: "service.prune", cron: "17 3 * * *", run: prune }];
  const allJobs = [...jobs, ...periodicJobs(periodic, clock, log)];
  const runner = createRunner({
    store,
    clock,
    log,
    services: features,
    owner: `process ${process.pid}`,
    jobs: allJobs,
  });
  const storeClock = async (at: number) => {
    if (clock.mode !== "real") await store.transaction((tx) => kept(tx).write({ name: "clock", value: isoOf(at) }));
  };
  const loop = createLoop({ clock, runner, log, storeClock });
  const time = moveTime(clock, loop);

  const { rateLimit, addressRateLimit, bodyLimit, behindProxy, envelope, mode } = settings;
  const isDev = mode === "dev";
  const faults = createFaults({ clock, closing: life.closing.signal });
  const journal = createJournal(clock);
  if (isDev) features.feed.listen(journal.change);
  const writer = createWriter({ envelope: "flat", now: clock.iso, base: "" });
  const { secret } = settings.codeHost;
  const hooks = createHooks({ pushes: features.pushes, writer, secret, mode });
  const links = createAssets(features);
  const { watchKey, keys } = features;
  const gate = createAuthenticator({ identify: keys.identify, watchKey, windows, rateLimit, addressRateLimit });
  const meter = createMeter();
  const metrics = createMetrics({
    ...{ meter, clock, mode, feed: features.feed, closing: life.closing.signal, databaseBytes: store.engine.size },
    ...{ jobs: runner.load, deliveries: features.outbox.pending },
    ...{ deployments: features.rollout.unfinished, generations: features.execution.unfinished },
  });
  const makeApp = () => {
    const [closing, checkHost] = [life.closing.signal, known.check];
    const live = createLive({ ...features, gate, log, meter, closing, operation: stream, checkHost });
    const readable = () => kept().read({ name: "vault" });
    const calls = callsOf({ ...time, ...features, clock, inbox, faults, journal, snapshots });
    const control = createControl({ calls, now: iso, bodyLimit });
    return createApp({
      ...{ operations, services: features, gate, idempotency, store, clock, log, ids },
      ...{ envelope, bodyLimit, behindProxy, closing, checkHost, meter, upgrade: live.upgrade },
      health: createHealth({ gate, closing, readable, metrics, behindProxy }),
      beside: async (exchange) =>
        (isDev ? await control(exchange) : undefined) ?? (await links(exchange)) ?? hooks(exchange),
      faults: isDev ? faults.meet : undefined,
      observe: isDev ? journal.request : undefined,
    });
  };
  /** What a snapshot keeps beside the rows, in the order in which it is brought back. */
  const state: Readonly<Record<string, Snapshotable>> = {
    ...{ clock, ids, random, windows, keys, inbox, arrivals, faults, journal },
    assets: assets.snapshotable,
  };
  let made: App | undefined;
  return {
    ...{ state, mode, clock, life, outbound, inbox, arrivals, faults, journal, features, late, periodic, storeClock },
    ...{ loop, time },
    /** Its routes take longer than all else, so they are made for the first request: not every fork is called. */
    get app(): App {
      made ??= makeApp();
      return made;
    },
  };
}

/** Moving time, the same for the library and the control interface. Throws a 422 where that is not possible. */
function moveTime(clock: Foundation["clock"], loop: Loop) {
  const insist = (path: string) => {
    if (clock.mode !== "manual")
      throw invalid(path, "moves a manual clock only; start with the clock manual, or freeze it");
  };
  const advance = async (path: "by" | "to", aim: (now: number) => number): Promise<Advanced> => {
    insist(path);
    const ran = await loop.advance((now) => {
      const at = aim(now);
      if (at < now) throw invalid(path, `must not be before ${isoOf(now)}: the clock never goes back`);
      if (!(at <= latestInstant)) throw invalid(path, `must not lead beyond ${isoOf(latestInstant)}`);
      return at;
    });
    return { now: clock.iso(), ran };
  };
  return {
    advanceBy: (ms: number) => advance("by", (now) => now + ms),
    advanceTo: (at: number) => advance("to", () => at),
    async advanceToNext(): Promise<Advanced> {
      insist("clock");
      return { ran: await loop.advanceToNext(), now: clock.iso() };
    },
    async runUntilIdle(): Promise<Advanced> {
      insist("clock");
      return { ran: await loop.runUntilIdle(), now: clock.iso() };
    },
    settle: async (): Promise<Advanced> => ({ ran: await loop.settle(), now: clock.iso() }),
  };
}
