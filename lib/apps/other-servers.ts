import type { ChangeFeed } from "../events/change-feed.ts";
import type { Queue } from "../jobs/queue.ts";
import { kindAt, type RuntimeJobs } from "../jobs/runtime-jobs.ts";
import { systemTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { appsRepository } from "./repository.ts";
import type { Registry } from "./runtime-leases.ts";
import type { AppKey } from "./supervisor.ts";

type Environment = Omit<AppKey, "organization_id">;

/** Files on a runtime that belong to deleted environments and ended deployments. */
export interface Leftovers {
  readonly keys: readonly AppKey[];
  /** Deployments that build or roll out. */
  readonly running: readonly string[];
  readonly releases: readonly string[];
  /** A deleted project. */
  readonly project_id: string | null;
}

interface Ports {
  readonly store: Store;
  readonly ids: Ids;
  readonly feed: ChangeFeed;
  readonly queue: Queue;
  readonly jobs: RuntimeJobs;
  readonly registry: Registry;
}

/** How often a waiting request checks whether its work is done. Usually a message arrives first. */
const pause = "1s";

const isDown = () =>
  new Problem(
    "unavailable",
    "the server that runs this environment is down; it starts the live release when it is back",
    {
      headers: { "retry-after": "5" },
    },
  );

export type OtherServers = ReturnType<typeof createOtherServers>;

/** Orders to the server that runs an environment. Each order is a job, so it survives a crash of either server. */
export function createOtherServers({ store, ids, feed, queue, jobs, registry }: Ports) {
  const rows = store.using(appsRepository);
  const restarts = new Map<string, () => void>();
  feed.onWake((name) => restarts.get(name.replace(/^restarted /, ""))?.());

  /** The other server's runtime that runs an environment; undefined if this server runs it, or nothing has run yet. */
  const runtimeOf = async (key: Environment, tx?: Tx): Promise<string | undefined> => {
    const { runtime_id = null } = (await rows(tx).find(key)) ?? {};
    return runtime_id === null || runtime_id === registry.own ? undefined : runtime_id;
  };

  const requireUp = (runtime_id: string) => {
    const found = registry.find(runtime_id);
    if (!found || !registry.isUp(found)) throw isDown();
  };

  const restarted = (restart_id: string) =>
    new Promise<void>((resolve) => {
      const cancel = systemTimer(pause, resolve, { hold: true });
      restarts.set(restart_id, () => {
        cancel();
        resolve();
      });
    });

  return {
    own: registry.own,
    runtimeOf,

    clear: (tx: Tx, runtime_id: string, leftovers: Leftovers) =>
      queue.add(tx, kindAt("apps.clear", runtime_id), leftovers),

    /** Throws 503 while the server that runs an environment is down. */
    async requireUp(key: Environment, tx: Tx): Promise<void> {
      const runtime_id = await runtimeOf(key, tx);
      if (runtime_id !== undefined) requireUp(runtime_id);
    },

    /** Resolves once the restart has ended, successful or not. */
    async restart({ organization_id, project_id, environment }: AppKey, runtime_id: string): Promise<void> {
      const restart_id = ids.next("job");
      const order = { organization_id, project_id, environment, restart_id };
      const kind = kindAt("apps.restart", runtime_id);
      await store.transaction({ organization_id }, (tx) => queue.addUnique(tx, kind, order, restart_id));
      try {
        while (await jobs.isWaiting(`job_${restart_id}`)) {
          requireUp(runtime_id);
          await restarted(restart_id);
        }
      } finally {
        restarts.delete(restart_id);
      }
    },

    tellRestarted: (tx: Tx, restart_id: string) => feed.wake(tx, `restarted ${restart_id}`),

    /** The app at a host that another server runs; undefined for this server's hosts and for unknown hosts. */
    async atHost(host: string): Promise<Row<"apps"> | undefined> {
      const domains = registry.known().map(({ apps_url }) => `.${new URL(apps_url).hostname}`);
      const domain = domains.find((one) => host.endsWith(one));
      const own = domain === undefined ? await rows().activeDomain({ name: host }) : undefined;
      const app = own ? await rows().find(own) : await rows().ofSlug({ slug: host.slice(0, -(domain?.length ?? 0)) });
      return app && app.runtime_id !== null && app.runtime_id !== registry.own ? app : undefined;
    },

    /** The live releases of these environments, by deployment, from the rows. */
    async live(environments: readonly Environment[]): Promise<ReadonlyMap<string, Row<"apps">>> {
      const keys = new Map(environments.map((one) => [`${one.project_id} ${one.environment}`, one]));
      const found = await Promise.all([...keys.values()].map((key) => rows().find(key)));
      return new Map(found.flatMap((app) => (app?.deployment_id ? [[app.deployment_id, app]] : [])));
    },
  };
}
