import type { StoredReleases } from "../deployments/stored-releases.ts";
import type { Runtime } from "../drivers/deployment/contract.ts";
import type { TextRecords } from "../drivers/outbound/text-records.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { Waiting } from "../events/wait-for-change.ts";
import type { Queue } from "../jobs/queue.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { paginate } from "../kernel/page.ts";
import { type FollowOptions, parseLastEventId, Stream } from "../kernel/stream.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { LogsQuery } from "../kernel/validation.ts";
import type { AppsProxy } from "../proxy/proxy.ts";
import type { Store } from "../store/store.ts";
import { createComeback } from "./comeback.ts";
import { createDomains } from "./domains.ts";
import { labelsOf } from "./host-names.ts";
import { createAppLifecycle } from "./lifecycle.ts";
import { createAppLogs, logNameOf } from "./logs.ts";
import { createAppRemoval } from "./removal.ts";
import { appsRepository } from "./repository.ts";
import { createRestarts } from "./restarts.ts";
import { createSharing, type Sharing } from "./sharing.ts";
import { type AppKey, createSupervisor, type Supervisor } from "./supervisor.ts";
import { createAppUrls } from "./urls.ts";

type Environment = Omit<AppKey, "organization_id">;
type Deployment = AppKey & { readonly id: string };

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly feed: ChangeFeed;
  readonly waiting: Waiting;
  readonly ids: Ids;
  readonly queue: Queue;
  /** Whether other servers have the same rows. */
  readonly isShared: boolean;
  /** Undefined where deployments are simulated, or run on other servers. */
  readonly runtime: Runtime | undefined;
  /** What other servers know the runtime by. */
  readonly runtimeId: string | undefined;
  readonly proxy: AppsProxy;
  /** Those of the options `apps.domain` and `apps.url`. */
  readonly domains: readonly string[];
  /** The host of `publicUrl`, which is no app's. */
  readonly ownHost: string | undefined;
  /** `http://localhost:8080`; undefined while the port of the apps is closed. */
  readonly appsUrl: () => string | undefined;
  /** Option `deployments.keep`. */
  readonly keep: number;
  /** Option `deployments.apps`: whether live releases are left as they are. */
  readonly areStopped: boolean;
  readonly textRecords: TextRecords;
  /** Whether a domain of this organization has to be verified before it serves. */
  readonly verifies: (tx: Tx, organization_id: string) => Promise<boolean>;
  readonly projectName: (tx: Tx, organization_id: string, id: string) => Promise<string | undefined>;
  readonly deployments: StoredReleases;
  /** Ends the deployment that builds or rolls out in a deleted environment. */
  readonly onEnvironmentRemoved: (tx: Tx, key: AppKey) => Promise<void>;
  /** Option `deployments.runtime` says that deployments are simulated: runtimes that are down do not come back. */
  readonly forgetsRuntimes: boolean;
  /** The runtime is back: deployments may go on. */
  readonly onBack: () => Promise<unknown>;
}

export type AppsService = ReturnType<typeof appsService>;

/** What runs: the live release of each environment, its hosts, and what it prints. CONTRACT section 11. */
export function appsService(ports: Ports) {
  const { store, log, waiting, runtime, proxy, deployments } = ports;
  // The live release and the one before it always stay.
  const keep = Math.max(2, ports.keep);
  const rows = store.using(appsRepository);
  const [logs, comeback] = [createAppLogs(ports), createComeback(ports)];
  const supervisor =
    runtime &&
    createSupervisor({
      ...ports,
      runtime,
      output: logs.append,
      starting: comeback.starting,
      async appOf(key) {
        const live = (await rows().find(key))?.deployment_id;
        return live ? deployments.app(live) : undefined;
      },
    });

  const own = runtime && ports.runtimeId !== undefined ? { id: ports.runtimeId, names: runtime.name } : undefined;
  const sharing = ports.isShared
    ? createSharing({ ...ports, own, supervisor, ensure: (tx, key) => giveHost(tx, key) })
    : undefined;
  const others = sharing?.others;
  /** What runs deployments, here or on other servers; undefined where they are simulated. */
  const runtimeName = () => runtime?.name ?? sharing?.registry.names();
  /** Whether an environment runs here. Rows that were copied from PostgreSQL to a file still name a runtime. */
  const isOwn = ({ runtime_id: at }: { runtime_id: string | null }) => !sharing || at === null || at === own?.id;

  const urls = createAppUrls({ ...ports, registry: sharing?.registry, others, runtimeName });
  const { urlOf, hostsOf, ofProject, urlsOf } = urls;
  proxy.setElsewhere(urls.urlElsewhere);
  /** Runs after the commit; a failure is a fault of the service, and no request waits for it. */
  const afterCommit = (tx: Tx, what: string, run: () => Promise<unknown> | undefined) =>
    tx.afterCommit(() => {
      Promise.resolve()
        .then(run)
        .catch((error) => log.error(`${what} failed`, { reason: reasonOf(error) }));
    });

  const pruneReleases = async (key: Environment) => {
    for (const release of (await deployments.releases(key)).slice(keep)) await runtime?.discard(release);
  };

  const changed = domainChanges({ ...ports, rows, hostsOf, supervisor, tellOthers: sharing?.tellOthers });
  const domains = createDomains({ ...ports, changed });
  /** Gives an environment its host, unless it has one. */
  const giveHost = async (tx: Tx, key: AppKey): Promise<void> => {
    if (await rows(tx).find(key)) return;
    const { organization_id, project_id, environment } = key;
    const project = (await ports.projectName(tx, organization_id, project_id)) ?? "";
    for (const slug of labelsOf(environment, project, `${project_id} ${environment}`)) {
      if ((await rows(tx).withSlug({ slug })) || (await domains.keptFor(tx, key, slug))) continue;
      const row = { organization_id, project_id, environment, slug, deployment_id: null, log_entries: 0 };
      return void (await rows(tx).insert({ ...row, runtime_id: null }));
    }
  };

  const ensure = async (tx: Tx, key: AppKey) => (runtimeName() === undefined ? undefined : giveHost(tx, key));
  return {
    ensure,
    /** Sets the own domains of an environment. */
    async setDomains(tx: Tx, key: AppKey, names: readonly string[]): Promise<void> {
      await domains.set(tx, key, names);
      await changed(tx, key);
    },
    verifyDomain: domains.verify,
    prune: domains.prune,

    ofProject,
    urlsOf,
    /** Whether the environment of a deployment was deleted, so that nothing of it may run. */
    async isGone(key: Environment, tx?: Tx): Promise<boolean> {
      return runtime !== undefined && !(await rows(tx).find(key));
    },

    /** A deployment has become active: its release is the live one from now on. */
    async succeeded(
      tx: Tx,
      { id: deployment_id, organization_id, project_id, environment }: Deployment,
    ): Promise<void> {
      if (!runtime) return;
      const key = { organization_id, project_id, environment };
      await rows(tx).setLive({ project_id, environment, deployment_id });
      const app = await rows(tx).find(key);
      const live = app && { deployment_id, slug: app.slug, hosts: await hostsOf(key, app.slug, tx) };
      afterCommit(tx, "removing old releases", () => {
        if (live) supervisor?.promote(key, live);
        return pruneReleases(key);
      });
    },

    /** The URL of a deployment while its release is live. */
    urlOf({ id, project_id, environment }: Environment & { readonly id: string }): string | null {
      const live = supervisor?.liveIn({ project_id, environment });
      return live?.deployment_id === id ? urlOf(live) : null;
    },

    ...createRestarts({ store, logs, supervisor, others, runtimeName }),

    async logs(key: AppKey, { follow, ...query }: LogsQuery, { resume, signal }: FollowOptions) {
      const { organization_id, project_id, environment } = key;
      if (follow === "true") {
        const changes = () => waiting.changes({ organization_id, id: logNameOf(key) }, signal());
        return new Stream(logs.follow(key, changes, parseLastEventId(resume)));
      }
      const filters = { organization_id, project_id, environment };
      return paginate(query, "environment logs", filters, rows().logs, { everything: true, key: "seq" });
    },

    ...createAppRemoval({ ...ports, supervisor, others, isOwn, afterCommit }),
    /** Undefined where one server does everything. */
    sharing,
    runtimeName,

    ...createAppLifecycle({ ...ports, keep, supervisor, sharing, comeback, ensure, hostsOf, isOwn }),
  };
}

/** What follows from a change of the domains that serve an environment: here, on other servers, and in open pages. */
const domainChanges =
  (ports: {
    readonly rows: (tx: Tx) => Pick<ReturnType<typeof appsRepository>, "find">;
    readonly hostsOf: (key: AppKey, slug: string, tx: Tx) => Promise<readonly string[]>;
    readonly supervisor: Supervisor | undefined;
    readonly tellOthers: Sharing["tellOthers"] | undefined;
    readonly feed: ChangeFeed;
  }) =>
  async (tx: Tx, key: AppKey): Promise<void> => {
    const app = await ports.rows(tx).find(key);
    const hosts = app ? await ports.hostsOf(key, app.slug, tx) : [];
    tx.afterCommit(() => ports.supervisor?.setHosts(key, hosts));
    ports.tellOthers?.(tx);
    ports.feed.publish(tx, { kind: "record", organization_id: key.organization_id, id: key.project_id });
  };
