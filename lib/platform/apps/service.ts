import type { Progress } from "../../drivers/deployment/contract.ts";
import {
  type AppKey,
  type Environment,
  type FollowedKey,
  keyOf,
  type LiveApps,
  nameOf,
} from "../../features/environments/live-apps.ts";
import { maxAppLines } from "../../kernel/limits.ts";
import { reasonOf } from "../../kernel/log.ts";
import { type FollowOptions, parseLastEventId, Stream } from "../../kernel/node/stream.ts";
import { type PageQuery, paginate, paginateLong } from "../../kernel/page.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { LogsQuery } from "../../kernel/validation.ts";
import { createCrashRestart } from "./crash-restart.ts";
import { createCrashes } from "./crashes.ts";
import { createDataSizes } from "./data-sizes.ts";
import { labelsOf } from "./host-names.ts";
import { createAppLifecycle } from "./lifecycle.ts";
import { createAppLogs } from "./logs.ts";
import { oneServer, type Placement } from "./placement.ts";
import type { Addresses, ServicePorts, ThisServer } from "./ports.ts";
import { createAppRemoval } from "./removal.ts";
import { appsRepository } from "./repository.ts";
import { createRestarts } from "./restarts.ts";
import { createSchedules } from "./schedules.ts";
import { createSeveralServers } from "./several-servers.ts";
import { createSupervisor } from "./supervisor.ts";
import { createAppUrls, hostsUnder } from "./urls.ts";

type Deployment = AppKey & { readonly id: string; readonly deployed_at: string | null };
type Beside = Pick<Progress & { state: "done" }, "workers" | "schedules">;

interface Given extends ServicePorts {
  readonly server: ThisServer;
  readonly addresses: Addresses;
}

/** The running apps: each environment's live release, its hosts, and its output. */
export function appsService(given: Given): LiveApps {
  const ports = { ...given, ...given.server, ...given.addresses };
  const { store, log, waiting, runtime, proxy, deployments, custom, domains, ownHosts } = ports;
  const rows = store.using(appsRepository);
  // The live release and its predecessor are always kept.
  const keep = Math.max(2, ports.keep);
  const logs = createAppLogs(ports);
  const crashRestart = createCrashRestart(ports);
  const appOf = async (key: Environment) => {
    const live = (await rows().find(key))?.deployment_id;
    return live ? deployments.app(live) : undefined;
  };
  const tell = { output: logs.append, crashed: createCrashes(ports), starting: crashRestart.starting };
  const supervisor = runtime && createSupervisor({ log, proxy, runtime, appOf, ...tell });

  const giveHost = async (tx: Tx, key: AppKey): Promise<void> => {
    // A deployment may still wait for the turn of a deleted environment.
    if ((await rows(tx).find(key)) || !(await rows(tx).protectOf(key))) return;
    const { organization_id, project_id, environment } = key;
    const project = (await ports.projectName(tx, organization_id, project_id)) ?? "";
    for (const slug of labelsOf(environment, project, nameOf(key))) {
      if (hostsUnder(domains, slug).some((host) => ownHosts.includes(host))) continue;
      if ((await rows(tx).ofSlug({ slug })) || (await custom.keptFor(tx, key, slug))) continue;
      const row = { organization_id, project_id, environment, slug, deployment_id: null, log_entries: 0 };
      const restarts = { restarts: 0, restarts_since: null, hour_restarts: 0, hour_since: null, mailed_at: null };
      return void (await rows(tx).insert({ ...row, runtime_id: null, data_bytes: null, workers: null, ...restarts }));
    }
  };

  const recover = async (): Promise<void> => schedules.recover((await rows().live({})).filter(placement.isHere));
  const placement: Placement = ports.isShared
    ? createSeveralServers({ ...ports, supervisor, ensure: giveHost, onTaken: recover })
    : oneServer({ ...ports, supervisor });

  const schedules = createSchedules({ ...ports, logs, appOf, placement, supervisor });
  const sizes = createDataSizes({ ...ports, logs, placement });
  const { urlElsewhere, urlOf, accessOf, ...urls } = createAppUrls({ ...ports, schedules, placement });
  proxy.setElsewhere(urlElsewhere);

  /** Runs work after the commit. Requests do not wait for it, and failures are logged. */
  const afterCommit = (tx: Tx, what: string, run: () => Promise<unknown> | undefined) =>
    tx.afterCommit(() => {
      Promise.resolve()
        .then(run)
        .catch((error) => log.error(`${what} failed`, { reason: reasonOf(error) }));
    });

  const pruneReleases = async (key: Environment) => {
    for (const release of (await deployments.releases(key)).slice(keep)) await runtime?.discard(release);
  };

  return {
    async ensure(tx: Tx, key: AppKey): Promise<void> {
      if (placement.runtimeName() !== undefined) await giveHost(tx, key);
    },

    /** Applies a change to an environment's hosts or protection: here, on other servers, and in open pages. */
    async accessChanged(tx, key): Promise<void> {
      const app = await rows(tx).find(key);
      const access = app && (await accessOf(key, app.slug, tx));
      tx.afterCommit(() => access && supervisor?.setAccess(key, access));
      placement.tellOthers(tx);
      ports.feed.publish(tx, { kind: "record", organization_id: key.organization_id, id: key.project_id });
    },

    ...urls,
    isLive: async (key: Environment): Promise<boolean> => Boolean((await rows().find(key))?.deployment_id),
    async isGone(key: Environment, tx?: Tx): Promise<boolean> {
      return runtime !== undefined && !(await rows(tx).find(key));
    },

    async succeeded(
      tx: Tx,
      { id: deployment_id, deployed_at: at, ...deployment }: Deployment,
      { workers = [], schedules: its = [] }: Beside,
    ): Promise<void> {
      if (!runtime) return;
      const key = keyOf(deployment);
      await rows(tx).setLive({ ...key, deployment_id, workers: JSON.stringify(workers), at });
      await schedules.set(tx, key, its);
      const app = await rows(tx).find(key);
      const live = app && { deployment_id, slug: app.slug, ...(await accessOf(key, app.slug, tx)) };
      afterCommit(tx, "removing old releases", () => {
        if (live) supervisor?.promote(key, live);
        sizes.goesLive(key);
        return pruneReleases(key);
      });
    },

    urlOf({ id, project_id, environment }: Environment & { readonly id: string }): string | null {
      const live = supervisor?.liveIn({ project_id, environment });
      return live?.deployment_id === id ? urlOf(live) : null;
    },

    ...createRestarts({ logs, supervisor, placement }),

    async logs(key: FollowedKey, { follow, ...query }: LogsQuery, { resume, signal }: FollowOptions) {
      if (follow) {
        const { organization_id } = key;
        const changes = () => waiting.changes({ organization_id, id: nameOf(key) }, signal());
        return new Stream(logs.follow(key, changes, parseLastEventId(resume)));
      }
      // `most` ends the list, because the log grows while it is read.
      return paginateLong(query, "environment logs", keyOf(key), rows().logs, {
        key: "seq",
        first: 32,
        keepsLast: true,
        most: maxAppLines,
      });
    },

    runSchedule: schedules.run,

    runs: (key: AppKey, query: PageQuery) => paginate(query, "runs", keyOf(key), schedules.runs().runs),

    ...createAppRemoval({ ...ports, schedules, supervisor, placement, afterCommit }),
    runtimeName: placement.runtimeName,
    runtimeId: placement.runtimeId,
    runtimes: placement.runtimes,
    assign: placement.assign,
    isHeld: placement.isHeld,
    obstacle: placement.obstacle,
    onBack: placement.onBack,
    unregister: placement.end,

    ...createAppLifecycle({
      ...{ log, store, runtime, deployments, areStopped: ports.areStopped },
      ...{ keep, supervisor, placement, crashRestart, schedules, sizes, logs, ensure: giveHost, accessOf },
    }),
  };
}
