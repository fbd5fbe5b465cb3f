import type { Settings } from "../config/parse-options.ts";
import type { Snapshots } from "../control/calls.ts";
import type { Sink } from "../drivers/outbound/function-transport.ts";
import { createHosts, type Hosts } from "../http/hosts.ts";
import type { Listening } from "../http/server.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import { type OpenDatabase, openImage } from "../store/database-files.ts";
import { copyFoundation, type Foundation } from "./open-store.ts";
import { discardState, shutDown } from "./shutdown.ts";
import { type Wiring, wire } from "./wiring.ts";

/**
 * A state of a service, with all that runs on it. A state that is brought back gets all of this anew, and what began
 * before is left with a store that takes nothing more: so nobody has to wait for it, and it changes nothing.
 */
export interface HostState {
  readonly foundation: Foundation;
  readonly parts: Wiring;
  readonly apiKey: string | null;
}

/** A state as it was: the rows, and what lives beside them. It is never changed, so any number of worlds can begin with it. */
interface Image {
  readonly rows: Buffer;
  readonly beside: Readonly<Record<string, unknown>>;
  readonly apiKey: string | null;
}

/** What a service keeps whatever state it is in: its ports, the hosts it answers to, its sinks, its snapshots. */
export interface HostContext {
  readonly listening: Listening[];
  readonly known: Hosts;
  readonly sinks: Map<string, Sink>;
  readonly snapshots: Snapshots;
  /** What the clock of the present state shows. */
  iso(): string;
}

export interface Host extends HostContext {
  /** The present one. */
  readonly now: HostState;
  /** Goes on with a first world, which reset comes back to. */
  begin(world: HostState): Promise<void>;
  /** Goes on with a kept state, on rows of its own. */
  enter(image: Image, opened: OpenDatabase, from: Foundation): Promise<void>;
  fork(): Promise<Host>;
  close(): Promise<void>;
}

/** Each is a whole database, so the oldest go. */
const mostSnapshots = 100;

/** What a start keeps for reset, in bytes of memory: beyond two GiB SQLite gives no image, and nothing could start. */
const mostForReset = 1024 ** 3;

const tooLarge = () =>
  new Problem(
    "limit_reached",
    "the database had more than 1 GiB at the start, so nothing was kept to go back to; take a snapshot, and restore that",
  );

/** What a fork takes along. */
interface Inheritance {
  readonly sinks: ReadonlyMap<string, Sink>;
  readonly images: ReadonlyMap<string, Image>;
  /** How many snapshots were taken, so that no identifier comes twice. */
  readonly count: number;
  readonly first: Image | undefined;
}

const imageOf = ({ foundation, parts, apiKey }: HostState): Image => ({
  rows: foundation.opened.image(),
  beside: Object.fromEntries(Object.entries(parts.state).map(([name, part]) => [name, part.save()])),
  apiKey,
});

/** The worlds that one service goes through, one after the other. */
export function createHost(settings: Settings, inherited?: Inheritance): Host {
  const images = new Map(inherited?.images);
  let count = inherited?.count ?? 0;
  const leaving = new Set<Promise<void>>();
  let first = inherited?.first;
  let world: HostState | undefined;
  let ending: Promise<unknown> | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  const now = (): HostState => {
    if (!world) throw new Error("the service has not begun yet");
    return world;
  };
  const open = (): HostState => {
    if (settings.mode !== "dev") throw new Error("snapshots and forks are for the mode dev");
    if (ending) throw new Error("the service is closed; make a new one");
    return now();
  };
  /** The state between two transactions: nothing half done is in it, and nobody has to be waited for. */
  const take = () => open().foundation.store.engine.betweenTransactions(() => imageOf(open()));
  const enter: Host["enter"] = async ({ beside, apiKey }, opened, from) => {
    const foundation = copyFoundation(opened, settings, from);
    const parts = wire(foundation, settings, house);
    for (const [name, part] of Object.entries(parts.state)) part.load(beside[name]);
    const before = world;
    world = { foundation, parts, apiKey };
    if (before) {
      const left: Promise<void> = discardState(before, world).finally(() => leaving.delete(left));
      leaving.add(left);
    }
    await parts.loop.start("after a pause");
  };
  /** One after the other, or one would start what the next has left already. */
  const bring = (image: Image | undefined, missing: () => Problem): Promise<string> => {
    open();
    if (!image) throw missing();
    const brought = turn.then(async () => {
      const { foundation } = open();
      const { opened, store } = foundation;
      await store.engine.betweenTransactions(() => enter(image, opened.withImage(image.rows), foundation));
      return house.iso();
    });
    turn = brought.catch(() => {});
    return brought;
  };

  const house: HostContext = {
    listening: [],
    known: createHosts([...settings.hosts, ...(settings.publicUrl ? [new URL(settings.publicUrl).host] : [])]),
    sinks: new Map(inherited?.sinks),
    iso: () => now().foundation.clock.iso(),
    snapshots: {
      async snapshot() {
        const image = await take();
        count += 1;
        const id = `snap_${count}`;
        images.set(id, image);
        for (const oldest of images.keys()) if (images.size > mostSnapshots) images.delete(oldest);
        return { id, now: house.iso() };
      },
      restore: async (id) => ({ id, now: await bring(images.get(id), () => notFound("snapshot")) }),
      reset: async () => ({ now: await bring(first, tooLarge) }),
    },
  };
  return {
    ...house,
    get now() {
      return now();
    },
    async begin(begun) {
      world = begun;
      if (settings.mode === "dev" && begun.foundation.store.engine.size() <= mostForReset) first = await take();
    },
    enter,
    async fork() {
      const image = await take();
      const fork = createHost({ ...settings, database: ":memory:" }, { sinks: house.sinks, images, count, first });
      await fork.enter(image, openImage(image.rows), now().foundation);
      return fork;
    },
    async close() {
      // At once, although a state may still have to be brought back: what comes from now on is refused.
      now().parts.life.closing.abort();
      // A driver that was given is shared with forks, and ends with the service that it was given to.
      const cut = async () => (inherited ? undefined : settings.generations.driver?.close?.());
      ending ??= turn.then(() =>
        Promise.all([cut(), shutDown(now(), house.listening, { isFork: inherited !== undefined }), ...leaving]),
      );
      await ending;
      house.listening.length = 0;
    },
  };
}
