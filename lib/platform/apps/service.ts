import type { Progress, Runtime } from "../../drivers/deployment/contract.ts";
import type { StoredReleases } from "../../features/deployments/stored-releases.ts";
import type { Domains } from "../../features/environments/domains.ts";
import type { AppKey, Environment, FollowedKey, LiveApps } from "../../features/environments/live-apps.ts";
import type { Bus } from "../../features/events/bus.ts";
import type { ChangeFeed } from "../../features/events/change-feed.ts";
import type { Waiting } from "../../features/events/wait-for-change.ts";
import type { CrashMail } from "../../features/mails/crash-mail.ts";
import type { Queue } from "../../jobs/queue.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Ids } from "../../kernel/ids.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import { type FollowOptions, parseLastEventId, Stream } from "../../kernel/node/stream.ts";
import { type PageQuery, paginate, paginateLong } from "../../kernel/page.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { LogsQuery } from "../../kernel/validation.ts";
import type { Store } from "../../store/store.ts";
import type { AppsProxy } from "../proxy/proxy.ts";
import { createComeback } from "./crash-restart.ts";
import { createCrashes } from "./crashes.ts";
import { createDataSizes } from "./data-sizes.ts";
import { labelsOf } from "./host-names.ts";
import { createAppLifecycle } from "./lifecycle.ts";
import { createAppLogs, keptLines, logNameOf } from "./logs.ts";
import { oneServer, type Placement } from "./placement.ts";
import { createAppRemoval } from "./removal.ts";
import { appsRepository } from "./repository.ts";
import { createRestarts } from "./restarts.ts";
import { createSchedules } from "./schedules.ts";
import { createSeveralServers } from "./several-servers.ts";
import { type Access, createSupervisor, type Supervisor } from "./supervisor.ts";
import { createAppUrls, hostsUnder } from "./urls.ts";

type Deployment = AppKey & { readonly id: string; readonly deployed_at: string | null };
/** The workers and schedules of a release. */
type Beside = Pick<Progress & { state: "done" }, "workers" | "schedules">;

/** What runs apps on this server. */
interface ThisServer {
  /** Undefined if deployments are simulated or run on other servers. */
  readonly runtime: Runtime | undefined;
  /** The id under which the other servers know this server's runtime. */
  readonly runtimeId: string | undefined;
  /** Whether other servers share the database. */
  readonly isShared: boolean;
  /** Whether the option `deployments.runtime` is `simulated`. If so, runtimes that are down will not return. */
  readonly forgetsRuntimes: boolean;
  /** Option `deployments.apps`: whether live releases stay stopped at the start. */
  readonly areStopped: boolean;
  /** Option `deployments.keep`. */
  readonly keep: number;
  /** Option `deployments.dataLimit`. */
  readonly dataLimit: number;
}

/** How apps are reached. */
interface Addresses {
  readonly proxy: AppsProxy;
  /** `http://localhost:8080`; undefined while the port of the apps is closed. */
  readonly appsUrl: () => string | undefined;
  /** The domains of the options `apps.domain` and `apps.url`. */
  readonly domains: readonly string[];
  /** The hosts of the service itself, which no app may use. */
  readonly ownHosts: readonly string[];
}

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly feed: ChangeFeed;
  readonly waiting: Waiting;
  readonly ids: Ids;
  readonly queue: Queue;
  readonly bus: Pick<Bus, "announce">;
  readonly mailCrash: CrashMail;
  readonly projectName: (tx: Tx, organization_id: string, id: string) => Promise<string | undefined>;
  readonly deployments: StoredReleases;
  /** The domains of environments. */
  readonly custom: Domains;
  readonly server: ThisServer;
  readonly addresses: Addresses;
}

const releasePruner =
  ({ deployments, runtime, keep }: Pick<Ports, "deployments"> & ThisServer) =>
  async (key: Environment) => {
    for (const release of (await deployments.releases(key)).slice(keep)) await runtime?.discard(release);
  };

/** The running apps: each environment's live release, its hosts, and its output. */
export function appsService(given: Ports): LiveApps {
  const ports = { ...given, ...given.server, ...given.addresses };
  const { store, log, waiting, runtime, proxy, deployments } = ports;
  // The live release and its predecessor are always kept.
  const [rows, keep] = [store.using(appsRepository), Math.max(2, ports.keep)];
  const [logs, comeback] = [createAppLogs(ports), createComeback(ports)];
  const appOf = async (key: Environment) => {
    const live = (await rows().find(key))?.deployment_id;
    return live ? deployments.app(live) : undefined;
  };
  const { append: output } = logs;
  const crashed = createCrashes(ports);
  const supervisor = runtime && createSupervisor({ ...ports, ...comeback, runtime, output, appOf, crashed });

  const placement: Placement = ports.isShared
    ? createSeveralServers({ ...ports, supervisor, ensure: (tx, key) => giveHost(tx, key), onTaken: () => recover() })
    : oneServer({ ...ports, supervisor });
  const { runtimeName } = placement;

  /** Resumes the schedules of local releases. */
  const recover = async (): Promise<void> => schedules.recover((await rows().live({})).filter(placement.isHere));
  const schedules = createSchedules({ ...ports, logs, appOf, placement, supervisor });
  const parts = { logs, comeback, schedules, sizes: createDataSizes({ ...ports, logs, placement }) };
  const urls = createAppUrls({ ...ports, schedules, placement });
  const { urlOf, accessOf, ofRange, urlsOf, hasHost } = urls;
  proxy.setElsewhere(urls.urlElsewhere);
  const afterCommit = afterCommits(log);

  const pruneReleases = releasePruner({ ...ports, keep });
  const changed = accessChanges({ ...ports, rows, accessOf, supervisor, placement });
  const giveHost = hostGiver({ ...ports, rows, kept: ports.custom.keptFor });
  const ensure = async (tx: Tx, key: AppKey) => {
    if (runtimeName() !== undefined) await giveHost(tx, key);
  };
  return {
    ensure,
    accessChanged: changed,

    ofRange,
    ...{ urlsOf, hasHost, visitedAt: urls.visitedAt },
    isLive: async (key: Environment): Promise<boolean> => Boolean((await rows().find(key))?.deployment_id),
    async isGone(key: Environment, tx?: Tx): Promise<boolean> {
      return runtime !== undefined && !(await rows(tx).find(key));
    },

    async succeeded(
      tx: Tx,
      { id: deployment_id, organization_id, project_id, environment, deployed_at: at }: Deployment,
      { workers = [], schedules: its = [] }: Beside,
    ): Promise<void> {
      if (!runtime) return;
      const key = { organization_id, project_id, environment };
      await rows(tx).setLive({ project_id, environment, deployment_id, workers: JSON.stringify(workers), at });
      await schedules.set(tx, key, its);
      const app = await rows(tx).find(key);
      const live = app && { deployment_id, slug: app.slug, ...(await accessOf(key, app.slug, tx)) };
      afterCommit(tx, "removing old releases", () => {
        if (live) supervisor?.promote(key, live);
        parts.sizes.goesLive(key);
        return pruneReleases(key);
      });
    },

    urlOf({ id, project_id, environment }: Environment & { readonly id: string }): string | null {
      const live = supervisor?.liveIn({ project_id, environment });
      return live?.deployment_id === id ? urlOf(live) : null;
    },

    ...createRestarts({ logs, supervisor, placement }),

    async logs(key: FollowedKey, { follow, ...query }: LogsQuery, { resume, signal }: FollowOptions) {
      const { organization_id, project_id, environment } = key;
      if (follow) {
        const changes = () => waiting.changes({ organization_id, id: logNameOf(key) }, signal());
        return new Stream(logs.follow(key, changes, parseLastEventId(resume)));
      }
      const filters = { organization_id, project_id, environment };
      // The log grows while it is read.
      return paginateLong(query, "environment logs", filters, rows().logs, {
        key: "seq",
        first: 32,
        keepsLast: true,
        most: keptLines,
      });
    },

    runSchedule: schedules.run,

    runs: ({ organization_id, project_id, environment }: AppKey, query: PageQuery) =>
      paginate(query, "runs", { organization_id, project_id, environment }, schedules.runs().runs),

    ...createAppRemoval({ ...ports, schedules, supervisor, placement, afterCommit }),
    ...{ runtimeName, runtimeId: placement.runtimeId, runtimes: placement.runtimes },
    ...{ assign: placement.assign, isHeld: placement.isHeld, obstacle: placement.obstacle, onBack: placement.onBack },
    unregister: placement.end,

    ...createAppLifecycle({ ...ports, ...parts, keep, supervisor, placement, ensure, accessOf }),
  };
}

/** Runs after the commit. Requests do not wait for it; failures are logged. */
const afterCommits = (log: Log) => (tx: Tx, what: string, run: () => Promise<unknown> | undefined) =>
  tx.afterCommit(() => {
    Promise.resolve()
      .then(run)
      .catch((error) => log.error(`${what} failed`, { reason: reasonOf(error) }));
  });

type HostPorts = Pick<Ports, "projectName"> &
  Pick<Addresses, "domains" | "ownHosts"> & {
    readonly rows: (tx: Tx) => ReturnType<typeof appsRepository>;
    readonly kept: Domains["keptFor"];
  };
/** Assigns an environment its host if it has none. */
const hostGiver =
  ({ rows, kept, projectName, domains, ownHosts }: HostPorts) =>
  async (tx: Tx, key: AppKey): Promise<void> => {
    if (await rows(tx).find(key)) return;
    const { organization_id, project_id, environment } = key;
    const project = (await projectName(tx, organization_id, project_id)) ?? "";
    for (const slug of labelsOf(environment, project, `${project_id} ${environment}`)) {
      if (hostsUnder(domains, slug).some((host) => ownHosts.includes(host))) continue;
      if ((await rows(tx).withSlug({ slug })) || (await kept(tx, key, slug))) continue;
      const row = { organization_id, project_id, environment, slug, deployment_id: null, log_entries: 0 };
      const restarts = { restarts: 0, restarts_since: null, hour_restarts: 0, hour_since: null, mailed_at: null };
      return void (await rows(tx).insert({ ...row, runtime_id: null, data_bytes: null, workers: null, ...restarts }));
    }
  };

/** Applies a change to an environment's hosts or protection: here, on other servers, and in open pages. */
const accessChanges =
  (ports: {
    readonly rows: (tx: Tx) => Pick<ReturnType<typeof appsRepository>, "find">;
    readonly accessOf: (key: AppKey, slug: string, tx: Tx) => Promise<Access>;
    readonly supervisor: Supervisor | undefined;
    readonly placement: Pick<Placement, "tellOthers">;
    readonly feed: ChangeFeed;
  }) =>
  async (tx: Tx, key: AppKey): Promise<void> => {
    const app = await ports.rows(tx).find(key);
    const access = app && (await ports.accessOf(key, app.slug, tx));
    tx.afterCommit(() => access && ports.supervisor?.setAccess(key, access));
    ports.placement.tellOthers(tx);
    ports.feed.publish(tx, { kind: "record", organization_id: key.organization_id, id: key.project_id });
  };
