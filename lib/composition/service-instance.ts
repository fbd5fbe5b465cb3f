import { mayBeReached, runsForReal, type Settings } from "../config/parse-options.ts";
import { comparison, snapshotOptions } from "../emulator/control/state-calls.ts";
import { createForks, type ForkOptions } from "../emulator/fork-list.ts";
import { attemptsInEveryOrder } from "../emulator/instruments/delivery-orders.ts";
import { createSinks, type Sinks } from "../emulator/instruments/sinks.ts";
import { lookAhead } from "../emulator/preview.ts";
import { createSnapshotList, type Snapshot, type SnapshotList } from "../emulator/snapshot-list.ts";
import { imagesOf, reallyRuns, tooLarge } from "../emulator/snapshot-refusals.ts";
import { createWorlds } from "../emulator/worlds.ts";
import { createHosts } from "../http/hosts.ts";
import { shuttingDown } from "../http/limits/cancellation.ts";
import { createRecentRequests } from "../http/recent-requests.ts";
import type { Problem } from "../kernel/errors.ts";
import { reasonOf } from "../kernel/log.ts";
import { checkArgument } from "../kernel/validation.ts";
import type { Images, OpenDatabase } from "../store/engine.ts";
import { openImage } from "../store/sqlite/database-files.ts";
import { differencesOf } from "../store/sqlite/image-differences.ts";
import { createCompany } from "./company.ts";
import { type InstanceContext, mutedSettings } from "./instance-context.ts";
import { createMount } from "./mount.ts";
import { openPort } from "./open-port.ts";
import { copyFoundation, type Foundation } from "./open-store.ts";
import { createRuntimes, type Runtimes } from "./runtimes.ts";
import { discardState, shutDown } from "./shutdown.ts";
import { rejectUnused } from "./unused-setup.ts";
import { type HostState, wire } from "./wiring.ts";

/**
 * A service with its current state. A restore rebuilds all parts: base, features, job loop, routes. The replaced
 * state's store refuses writes, so its running work changes nothing and need not be awaited.
 */
export interface ServiceInstance extends InstanceContext {
  readonly state: HostState;
  /** Sets the first state, to which reset returns. */
  start(state: HostState): Promise<void>;
  /** Replaces the current state by a snapshot, in a new database. */
  load(snapshot: Snapshot, opened: OpenDatabase, from: Foundation, isFrozen?: boolean): Promise<void>;
  /** `isFrozen` makes its clock manual, so that nothing runs before the clock is moved. */
  fork(options?: ForkOptions & { readonly isFrozen?: boolean }): Promise<ServiceInstance>;
  close(): Promise<void>;
}

/** The parts that a fork shares with its parent. */
interface Inheritance {
  readonly sinks: Sinks;
  readonly snapshots: SnapshotList;
  readonly first: Snapshot | undefined;
  readonly isMuted: boolean;
  /** The parts that a world shares with the service whose port it uses. */
  readonly world?: Pick<InstanceContext, "hosts" | "listening" | "worlds">;
}

/** The largest database that the start copies for reset. SQLite cannot copy more than 2 GiB: the start would fail. */
const maxForReset = 1024 ** 3;

const snapshotOf = ({ foundation, wiring, apiKey }: HostState, images: Images): Snapshot => ({
  now: foundation.clock.iso(),
  database: images.take(),
  beside: Object.fromEntries(Object.entries(wiring.snapshotables).map(([name, part]) => [name, part.save()])),
  apiKey,
});

export function createServiceInstance(settings: Settings, runtimes: Runtimes, parent?: Inheritance): ServiceInstance {
  const snapshots = createSnapshotList(parent?.snapshots);
  let first = parent?.first;
  let state: HostState | undefined;
  let beginning: ReturnType<InstanceContext["started"]> | undefined;
  /** Replaced states that are still ending. */
  const discarding = new Set<Promise<void>>();
  let restoring: Promise<unknown> = Promise.resolve();
  let shutdown: Promise<void> | undefined;

  const current = (): HostState => {
    if (!state) throw new Error("the service has not started yet");
    return state;
  };
  const openState = (): HostState => {
    if (settings.mode !== "dev") throw new Error("snapshots and forks are for the mode dev");
    if (runsForReal(settings)) throw reallyRuns();
    if (shutdown) throw new Error("the service is closed; make a new one");
    return current();
  };
  /** Takes a snapshot between two transactions, so that no change is half done. Running work need not finish first. */
  const take = async () => {
    const images = imagesOf(openState());
    return images.between(() => snapshotOf(openState(), imagesOf(openState())));
  };
  const load: ServiceInstance["load"] = async ({ beside, apiKey }, opened, from, isFrozen) => {
    const foundation = copyFoundation(opened, settings, from);
    const wiring = wire(foundation, settings, context);
    for (const [name, part] of Object.entries(wiring.snapshotables)) part.load(beside[name]);
    if (isFrozen) foundation.clock.freeze();
    const before = state;
    state = { foundation, wiring, apiKey };
    beginning ??= { at: context.iso(), warning: undefined };
    if (before) {
      const discarded: Promise<void> = discardState(before, state).finally(() => discarding.delete(discarded));
      discarding.add(discarded);
    }
    await wiring.loop.start("after a pause");
  };
  /** One restore at a time. Otherwise a restore could start a state that the next has already replaced. */
  const restore = (snapshot: Snapshot | undefined, missing: () => Problem): Promise<string> => {
    imagesOf(openState());
    if (!snapshot) throw missing();
    const restored = restoring.then(async () => {
      const { foundation } = openState();
      const images = imagesOf(openState());
      await images.between(() => load(snapshot, images.replace(snapshot.database), foundation));
      await context.company.timers()?.show();
      return context.iso();
    });
    restoring = restored.catch(() => {});
    return restored;
  };

  const copy = async (snapshot: Snapshot, given: Partial<Inheritance> & { isFrozen?: boolean }) => {
    const { isMuted = parent?.isMuted === true, isFrozen, ...more } = given;
    // Browsers do not send the world header, so a world has no dashboard.
    const inMemory = { ...settings, database: ":memory:", ...(more.world && { dashboard: false as const }) };
    const forkSettings = isMuted ? mutedSettings(inMemory) : inMemory;
    const sinks = isMuted ? createSinks() : context.sinks;
    const forked = createServiceInstance(forkSettings, createRuntimes(forkSettings, runtimes.platform), {
      sinks,
      snapshots,
      first,
      isMuted,
      ...more,
    });
    await forked.load(snapshot, openImage(snapshot.database), current().foundation, isFrozen);
    return forked;
  };
  const fork: ServiceInstance["fork"] = async ({ from, muted, isFrozen = false } = {}) => {
    openState();
    return copy(from === undefined ? await take() : snapshots.get(from), { ...(muted && { isMuted: true }), isFrozen });
  };
  const makeWorld = async () => {
    imagesOf(openState());
    if (!first) throw tooLarge();
    return copy(first, { snapshots: createSnapshotList(), world: context });
  };
  const preview: ServiceInstance["preview"] = async (target) => {
    const ahead = await fork({ muted: true, isFrozen: true });
    return lookAhead(ahead.state.wiring, target).finally(ahead.close);
  };
  const deliverInEveryOrder: ServiceInstance["deliverInEveryOrder"] = ({ deliveries, muted }) =>
    attemptsInEveryOrder(async () => {
      // The fork's clock is frozen, so it sends only these deliveries.
      const forked = await fork({ muted, isFrozen: true });
      const { features, journal } = forked.state.wiring;
      return { deliver: features.outbox.deliver, journal, close: forked.close };
    }, deliveries);
  const forks = createForks(async (options) => {
    const host = await fork(options);
    return { iso: host.iso, close: host.close, listen: () => openPort(host, {}) };
  });

  const warn = (error: unknown) => current().foundation.log.warn("a world has failed", { reason: reasonOf(error) });
  const context: InstanceContext = {
    worlds: parent?.world?.worlds ?? createWorlds(makeWorld, warn),
    isWorld: parent?.world !== undefined,
    isMuted: parent?.isMuted ?? false,
    forks,
    preview,
    deliverInEveryOrder,
    listening: parent?.world?.listening ?? [],
    hosts:
      parent?.world?.hosts ??
      createHosts([...settings.hosts, ...(settings.publicUrl ? [new URL(settings.publicUrl).host] : [])]),
    mayBeReached: mayBeReached(settings),
    sinks: parent?.sinks.copy() ?? createSinks(),
    mount: createMount(settings),
    company: createCompany({
      clock: () => current().foundation.clock,
      sinks: () => context.sinks,
      isBusy: () => current().foundation.store.engine.isBusy(),
    }),
    runtimes,
    samples: [],
    started: () => beginning ?? { at: context.iso(), warning: undefined },
    requests: createRecentRequests({ keepsBodies: settings.mode === "dev" }),
    iso: () => current().foundation.clock.iso(),
    snapshots: {
      async snapshot(given) {
        const { name = null } = checkArgument(snapshotOptions, "snapshot", given ?? {}, '{ name: "before the move" }');
        const snapshot = await take();
        return { id: snapshots.add(snapshot, name), now: snapshot.now };
      },
      async restore(given) {
        imagesOf(openState());
        const id = snapshots.idOf(given);
        return { id, now: await restore(snapshots.get(id), tooLarge) };
      },
      reset: async () => ({ now: await restore(first, tooLarge) }),
      list() {
        openState();
        return snapshots.list();
      },
      remove(id) {
        openState();
        snapshots.remove(id);
      },
      async compare(given) {
        const { from, to } = checkArgument(comparison, "compare", given, '{ from: "snap_1" }');
        const before = snapshots.get(from);
        const after = to === undefined ? await take() : snapshots.get(to);
        return {
          from: { id: from, now: before.now },
          to: { id: to ?? null, now: after.now },
          ...differencesOf(before.database, after.database),
        };
      },
    },
  };
  return {
    ...context,
    get state() {
      return current();
    },
    async start(started) {
      state = started;
      beginning = { at: context.iso(), warning: started.foundation.clockWarning };
      const { opened, store } = started.foundation;
      if (settings.mode !== "dev" || runsForReal(settings) || !opened.images) return;
      if ((await store.engine.size()) <= maxForReset) first = await take();
    },
    load,
    fork,
    async close() {
      // Refuses new requests at once, even while a restore is running.
      current().wiring.closing.abort(shuttingDown());
      // Forks share the user's driver, so only the service that received the driver closes it.
      const closeDriver = async () => (parent ? undefined : settings.generations.driver?.close?.());
      const isFork = parent !== undefined;
      shutdown ??= restoring.then(async () => {
        const listening = context.isWorld ? [] : context.listening;
        const end = shutDown(current(), listening, context.runtimes, { isFork });
        const closeWorlds = () => (context.isWorld ? undefined : context.worlds.close());
        const { faults, inbox } = current().wiring;
        const unused = { faults: faults.unused(isFork), answers: inbox.unused(isFork) };
        const all = Promise.all([end, closeDriver(), forks.close(), closeWorlds(), ...discarding]);
        const [scenarios] = await all.finally(() => context.company.release());
        listening.length = 0;
        if (settings.strict) rejectUnused({ ...unused, scenarios }, context.sinks.errors);
      });
      await shutdown;
    },
  };
}
