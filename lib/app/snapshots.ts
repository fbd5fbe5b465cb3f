import { runsForReal, type Settings } from "../config/parse-options.ts";
import { shuttingDown } from "../http/cancellation.ts";
import { createHosts } from "../http/hosts.ts";
import { createSinks, type SinkError, type Sinks } from "../instruments/sinks.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import type { Scenario } from "../scenarios/service.ts";
import { openImage } from "../store/database-files.ts";
import type { Images, OpenDatabase } from "../store/engine.ts";
import type { HostContext } from "./host-context.ts";
import { copyFoundation, type Foundation } from "./open-store.ts";
import { createRuntimes } from "./runtimes.ts";
import { discardState, shutDown } from "./shutdown.ts";
import { type HostState, wire } from "./wiring.ts";

/**
 * A service with its current state. Restoring builds all parts again: base, features, job loop, routes. The replaced state
 * keeps a store that refuses writes, so its running work changes nothing and nothing waits for it.
 */
export interface Host extends HostContext {
  /** The current one. */
  readonly state: HostState;
  /** Sets the first state, which reset restores. */
  start(state: HostState): Promise<void>;
  /** Replaces the current state by a snapshot, on a database of its own. */
  load(snapshot: Snapshot, opened: OpenDatabase, from: Foundation): Promise<void>;
  fork(): Promise<Host>;
  close(): Promise<void>;
}

/** A state at one time: its database, and the state beside the rows. It never changes, so any number of states can start from it. */
interface Snapshot {
  readonly database: Buffer;
  readonly beside: Readonly<Record<string, unknown>>;
  readonly apiKey: string | null;
}

/** What a fork takes over from its parent. */
interface Inheritance {
  readonly sinks: Sinks;
  readonly snapshots: ReadonlyMap<string, Snapshot>;
  /** The number of snapshots taken, so that no identifier repeats. */
  readonly count: number;
  readonly first: Snapshot | undefined;
}

/** Each holds a whole database, so the oldest are dropped. */
const maxSnapshots = 100;

/** The largest database, in bytes, that is copied for reset at the start. Beyond 2 GiB SQLite gives no copy, and nothing could start. */
const maxForReset = 1024 ** 3;

const tooLarge = () =>
  new Problem(
    "limit_reached",
    "the database had more than 1 GiB at the start, so its first state was not stored; take a snapshot, and restore that",
  );

const reallyRuns = () =>
  new Problem(
    "limit_reached",
    "what a runtime runs cannot be copied or set back, so there are no snapshots, forks and reset; start without --runtime",
  );

const noImages = () =>
  new Problem(
    "limit_reached",
    "a database of PostgreSQL has no snapshots, forks and reset; use one in memory or in a file",
  );

const imagesOf = ({ foundation }: HostState): Images => {
  const { images } = foundation.opened;
  if (!images) throw noImages();
  return images;
};

const snapshotOf = ({ wiring, apiKey }: HostState, images: Images): Snapshot => ({
  database: images.take(),
  beside: Object.fromEntries(Object.entries(wiring.snapshotables).map(([name, part]) => [name, part.save()])),
  apiKey,
});

/** Throws if a strict service has an unused scenario or an error of a sink. */
function rejectLoose(unused: readonly Scenario[], errors: readonly SinkError[]): void {
  const found = [
    ...errors.map(({ sink, error }) => `the sink "${sink}" threw ${String(error)}`),
    ...unused.map(
      ({ match, next }) => `the scenario ${next ? `for the next ${next}` : JSON.stringify(match)} was never used`,
    ),
  ];
  if (found.length > 0) throw new Error(found.join("; "), { cause: errors[0]?.error });
}

export function createHost(settings: Settings, inherited?: Inheritance): Host {
  const snapshots = new Map(inherited?.snapshots);
  let count = inherited?.count ?? 0;
  let first = inherited?.first;
  let state: HostState | undefined;
  /** States that were replaced and still end. */
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
  /** Taken between two transactions, so nothing in it is half done and no running work has to end first. */
  const take = async () => {
    const images = imagesOf(openState());
    return images.between(() => snapshotOf(openState(), imagesOf(openState())));
  };
  const load: Host["load"] = async ({ beside, apiKey }, opened, from) => {
    const foundation = copyFoundation(opened, settings, from);
    const wiring = wire(foundation, settings, context);
    for (const [name, part] of Object.entries(wiring.snapshotables)) part.load(beside[name]);
    const before = state;
    state = { foundation, wiring, apiKey };
    if (before) {
      const discarded: Promise<void> = discardState(before, state).finally(() => discarding.delete(discarded));
      discarding.add(discarded);
    }
    await wiring.loop.start("after a pause");
  };
  /** One restore at a time, or one would start a state that the next has already replaced. */
  const restore = (snapshot: Snapshot | undefined, missing: () => Problem): Promise<string> => {
    imagesOf(openState());
    if (!snapshot) throw missing();
    const restored = restoring.then(async () => {
      const { foundation } = openState();
      const images = imagesOf(openState());
      await images.between(() => load(snapshot, images.replace(snapshot.database), foundation));
      return context.iso();
    });
    restoring = restored.catch(() => {});
    return restored;
  };

  const context: HostContext = {
    listening: [],
    hosts: createHosts([...settings.hosts, ...(settings.publicUrl ? [new URL(settings.publicUrl).host] : [])]),
    mayBeReached: settings.publicUrl !== undefined || settings.behindProxy,
    sinks: inherited?.sinks.copy() ?? createSinks(),
    runtimes: createRuntimes(settings),
    iso: () => current().foundation.clock.iso(),
    snapshots: {
      async snapshot() {
        const snapshot = await take();
        count += 1;
        const id = `snap_${count}`;
        snapshots.set(id, snapshot);
        for (const oldest of snapshots.keys()) if (snapshots.size > maxSnapshots) snapshots.delete(oldest);
        return { id, now: context.iso() };
      },
      restore: async (id) => ({ id, now: await restore(snapshots.get(id), () => notFound("snapshot")) }),
      reset: async () => ({ now: await restore(first, tooLarge) }),
    },
  };
  return {
    ...context,
    get state() {
      return current();
    },
    async start(started) {
      state = started;
      const { opened, store } = started.foundation;
      if (settings.mode !== "dev" || runsForReal(settings) || !opened.images) return;
      if ((await store.engine.size()) <= maxForReset) first = await take();
    },
    load,
    async fork() {
      const snapshot = await take();
      const inheritance = { sinks: context.sinks, snapshots, count, first };
      const fork = createHost({ ...settings, database: ":memory:" }, inheritance);
      await fork.load(snapshot, openImage(snapshot.database), current().foundation);
      return fork;
    },
    async close() {
      // Refuse new requests at once, even while a restore is still running.
      current().wiring.closing.abort(shuttingDown());
      // Forks share the user's driver, so only the service that received it closes it.
      const closeDriver = async () => (inherited ? undefined : settings.generations.driver?.close?.());
      const isFork = inherited !== undefined;
      shutdown ??= restoring.then(async () => {
        const end = shutDown(current(), context.listening, context.runtimes, { isFork });
        const [unused] = await Promise.all([end, closeDriver(), ...discarding]);
        context.listening.length = 0;
        if (settings.strict) rejectLoose(unused, context.sinks.errors);
      });
      await shutdown;
    },
  };
}
