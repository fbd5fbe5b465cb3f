import type { App, Crash, Instance, LogLine, Runtime } from "../../drivers/deployment/contract.ts";
import { type AppKey, type Environment, nameOf } from "../../features/environments/live-apps.ts";
import type { Protection } from "../../features/environments/protection.ts";
import { reasonOf } from "../../kernel/log.ts";
import { Unhealthy } from "../runtime/failure.ts";
import { backoff_ms, createArrival, pause } from "../runtime/pause.ts";
import type { AppPorts } from "./ports.ts";

interface Ports extends Pick<AppPorts, "log" | "proxy"> {
  readonly runtime: Runtime;
  /** An environment's live release with its current variables; undefined if nothing is live. */
  readonly appOf: (key: AppKey) => Promise<App | undefined>;
  readonly output: (key: AppKey, lines: readonly LogLine[]) => void;
  readonly crashed: (key: AppKey, deployment_id: string, crash: Crash) => void;
  readonly starting: (deployment_id: string) => Promise<void>;
}

const grace_ms = 10_000;

/** Answers requests for an app that was not started. */
const nothing = { port: undefined, up: () => Promise.resolve(false) };

/** The hosts of an environment, and the protection that requests must pass. */
export interface Access {
  readonly hosts: readonly string[];
  readonly protection?: Protection | undefined;
}

export interface Live extends Access {
  readonly deployment_id: string;
  readonly slug: string;
}

interface Entry {
  readonly key: AppKey;
  readonly slug: string;
  deployment_id: string;
  instance: Instance | undefined;
  /** Whether the service started without apps and this one has not been started since. */
  isLeft?: boolean;
  /** Resolves when the workers of earlier releases have ended: only one instance of each worker may run. */
  workers: Promise<unknown>;
  /** Resolves when the instances that start have started, and those that were replaced have stopped. */
  changing: Promise<unknown>;
}

export type Supervisor = ReturnType<typeof createSupervisor>;

/** Keeps the live release of each environment running, and points the proxy at it. */
export function createSupervisor({ log, runtime, proxy, appOf, output, crashed, starting }: Ports) {
  const entries = new Map<string, Entry>();
  let closed = false;
  let changes = 0;

  /** Keeps the files of an environment until the change is complete. */
  const during = <T>(entry: Entry, change: Promise<T>): Promise<T> => {
    entry.changing = Promise.allSettled([entry.changing, change]).then(() => {});
    return change;
  };

  /** Switches to this instance: it gets all new requests. The previous one answers its open requests, then stops. */
  const switchTo = (entry: Entry, instance: Instance): void => {
    const before = entry.instance;
    entry.instance = instance;
    entry.isLeft = false;
    entry.deployment_id = instance.deployment_id;
    instance.output((lines) => output(entry.key, lines));
    instance.crashes?.((crash) => crashed(entry.key, instance.deployment_id, crash));
    entry.workers = entry.workers
      .then(() => before?.stopWorkers?.(grace_ms))
      .catch(() => {})
      .then(() => entry.instance === instance && instance.startWorkers?.());
    const drained = proxy.route(nameOf(entry.key), instance);
    during(
      entry,
      drained.then(() => before?.stop(grace_ms)),
    ).catch((error) => log.error("a release could not be stopped", { reason: reasonOf(error) }));
  };

  const isCurrent = (entry: Entry, deployment_id: string) =>
    !closed && entries.get(nameOf(entry.key)) === entry && entry.deployment_id === deployment_id;

  /** Starts a new instance and switches to it. Rejects if it does not become healthy. */
  const begin = async (entry: Entry, app: App): Promise<void> => {
    await starting(app.deployment_id);
    const instance = await runtime.start(app).catch((error) => {
      if (error instanceof Unhealthy && error.crash) crashed(entry.key, app.deployment_id, error.crash);
      throw error;
    });
    if (isCurrent(entry, app.deployment_id)) switchTo(entry, instance);
    else await instance.stop(grace_ms);
  };

  /** Starts the live release in its turn, and retries until it succeeds. `onTried` is called after the first try. */
  const bring = async (entry: Entry, turn?: Promise<void>, onTried = () => {}): Promise<void> => {
    const { deployment_id } = entry;
    const coming = { port: undefined, ...createArrival() };
    void proxy.route(nameOf(entry.key), coming);
    await turn;
    // Another call may have started it by now.
    const isThere = turn !== undefined && entry.instance !== undefined;
    for (let failures = 0; !isThere && isCurrent(entry, deployment_id); failures++) {
      try {
        const app = await appOf(entry.key);
        if (app?.deployment_id !== deployment_id) break;
        await during(entry, begin(entry, app));
        break;
      } catch (error) {
        if (closed) break;
        const wait_ms = backoff_ms(failures);
        const message = `The live release did not start: ${reasonOf(error)}; it is tried again in ${wait_ms / 1000} s`;
        output(entry.key, [{ level: "error", message }]);
        onTried();
        await pause(wait_ms);
      }
    }
    coming.arrive(true);
    onTried();
  };

  const setAccess = (key: AppKey, { hosts, protection }: Access): void => {
    changes += 1;
    proxy.setHosts(nameOf(key), hosts, protection);
  };

  const entryOf = (key: AppKey, { deployment_id, slug, ...access }: Live): Entry => {
    const entry = entries.get(nameOf(key)) ?? {
      key,
      slug,
      deployment_id,
      instance: undefined,
      workers: Promise.resolve(),
      changing: Promise.resolve(),
    };
    entries.set(nameOf(key), entry);
    setAccess(key, access);
    return entry;
  };

  return {
    liveIn: (key: Environment): Pick<Entry, "deployment_id" | "slug"> | undefined => entries.get(nameOf(key)),

    /** The environments with an app that is running or starting. */
    running: (): AppKey[] => [...entries.values()].map(({ key }) => key),

    /** The number of changes of apps and their hosts. A caller compares two readings. */
    changes: () => changes,

    /** Call when a deployment became active: the instance of its rollout takes over. A second call does nothing. */
    promote(key: AppKey, live: Live): void {
      const isHere = entries.get(nameOf(key))?.deployment_id === live.deployment_id;
      const entry = entryOf(key, live);
      void starting(live.deployment_id);
      const instance = runtime.take(live.deployment_id);
      if (instance) switchTo(entry, instance);
      else if (!isHere) {
        // An earlier process started it, so no instance is left to take over.
        entry.deployment_id = live.deployment_id;
        void bring(entry);
      }
    },

    /** Restarts a live release in its turn, unless its environment already has an app. Resolves after the first try. */
    resume: (key: AppKey, live: Live, turn?: Promise<void>): Promise<void> =>
      entries.has(nameOf(key))
        ? Promise.resolve()
        : new Promise((resolve) => void bring(entryOf(key, live), turn, resolve)),

    /** For a start without apps: the app stays stopped until a restart or a deployment. */
    leave(key: AppKey, live: Live): void {
      entryOf(key, live).isLeft = true;
      void proxy.route(nameOf(key), nothing);
    },

    isLeft: (key: AppKey): boolean => entries.get(nameOf(key))?.isLeft ?? false,

    setAccess(key: AppKey, access: Access): void {
      if (entries.has(nameOf(key))) setAccess(key, access);
    },

    /** Starts the live release again beside the running instance. Rejects if it does not become healthy. */
    async restart(key: AppKey): Promise<void> {
      const entry = entries.get(nameOf(key));
      const app = entry && (await appOf(key));
      if (!entry || !app) return;
      await during(entry, begin(entry, app));
    },

    /** Takes an environment off the proxy and stops its app. Resolves when nothing uses its files any more. */
    async stop(key: AppKey): Promise<void> {
      const entry = entries.get(nameOf(key));
      entries.delete(nameOf(key));
      setAccess(key, { hosts: [], protection: undefined });
      const drained = proxy.route(nameOf(key), undefined);
      await entry?.instance?.stop(grace_ms);
      await entry?.changing;
      await drained;
    },

    pause(): void {
      closed = true;
    },
  };
}
