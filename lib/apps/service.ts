import type { StoredReleases } from "../deployments/stored-releases.ts";
import type { Runtime } from "../drivers/deployment/contract.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { Waiting } from "../events/wait-for-change.ts";
import type { Clock } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { paginate } from "../kernel/page.ts";
import { type FollowOptions, parseLastEventId, Stream } from "../kernel/stream.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { LogsQuery } from "../kernel/validation.ts";
import type { AppsProxy } from "../proxy/proxy.ts";
import type { Store } from "../store/store.ts";
import { createDomains } from "./domains.ts";
import { labelsOf } from "./host-names.ts";
import { createAppLogs, logNameOf } from "./logs.ts";
import { createAppRemoval } from "./removal.ts";
import { appsRepository } from "./repository.ts";
import { type AppKey, createSupervisor } from "./supervisor.ts";

type Environment = Omit<AppKey, "organization_id">;
type Deployment = AppKey & { readonly id: string };

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly feed: ChangeFeed;
  readonly waiting: Waiting;
  /** Undefined where deployments are simulated: then nothing runs, and no environment has a URL. */
  readonly runtime: Runtime | undefined;
  readonly proxy: AppsProxy;
  /** Option `apps.domain`. */
  readonly domain: string;
  /** The host of `publicUrl`, which is no app's. */
  readonly ownHost: string | undefined;
  /** `http://localhost:8080`; undefined while the port of the apps is closed. */
  readonly appsUrl: () => string | undefined;
  /** Option `deployments.keep`. */
  readonly keep: number;
  readonly projectName: (tx: Tx, organization_id: string, id: string) => Promise<string | undefined>;
  readonly deployments: StoredReleases;
  /** Ends the deployment that builds or rolls out in a deleted environment. */
  readonly onEnvironmentRemoved: (tx: Tx, key: AppKey) => Promise<void>;
}

/** Without a runtime, an environment has no URL, and only its domains are shown, if there are any. */
export interface EnvironmentApp {
  domains?: string[];
  url?: string | null;
}

export type AppsService = ReturnType<typeof appsService>;

/** What runs: the live release of each environment, its hosts, and what it prints. CONTRACT section 11. */
export function appsService(ports: Ports) {
  const { store, log, waiting, runtime, proxy, domain, appsUrl, deployments } = ports;
  // The live release and the one before it always stay.
  const keep = Math.max(2, ports.keep);
  const rows = store.using(appsRepository);
  const logs = createAppLogs(ports);
  const domains = createDomains(ports);
  const supervisor =
    runtime &&
    createSupervisor({
      log,
      runtime,
      proxy,
      output: logs.append,
      async appOf(key) {
        const live = (await rows().find(key))?.deployment_id;
        return live ? deployments.app(live) : undefined;
      },
    });

  const urlOf = (slug: string): string | null => appsUrl()?.replace("://", `://${slug}.`) ?? null;

  const hostsOf = async (key: Environment, slug: string, tx?: Tx) => [
    `${slug}.${domain}`,
    ...(await rows(tx).domainsOf(key)).map(({ name }) => name),
  ];

  /** Runs after the commit; a failure is a fault of the service, and no request waits for it. */
  const afterCommit = (tx: Tx, what: string, run: () => Promise<unknown> | undefined) =>
    tx.afterCommit(() => {
      Promise.resolve()
        .then(run)
        .catch((error) => log.error(`${what} failed`, { reason: reasonOf(error) }));
    });

  /** The releases beyond those that are kept. */
  const prune = async (key: Environment) => {
    for (const release of (await deployments.releases(key)).slice(keep)) await runtime?.discard(release);
  };

  /** Gives an environment its host. Nothing changes where it has one, or where nothing runs. */
  const ensure = async (tx: Tx, key: AppKey): Promise<void> => {
    if (!runtime || (await rows(tx).find(key))) return;
    const { organization_id, project_id, environment } = key;
    const project = (await ports.projectName(tx, organization_id, project_id)) ?? "";
    for (const slug of labelsOf(environment, project, `${project_id} ${environment}`)) {
      if (await rows(tx).withSlug({ slug })) continue;
      await rows(tx).insert({ organization_id, project_id, environment, slug, deployment_id: null, log_entries: 0 });
      return;
    }
  };

  return {
    ensure,
    /** Sets the own domains of an environment. */
    async setDomains(tx: Tx, key: AppKey, names: readonly string[]): Promise<void> {
      await domains.set(tx, key, names);
      const app = await rows(tx).find(key);
      const hosts = app ? await hostsOf(key, app.slug, tx) : [];
      tx.afterCommit(() => supervisor?.setHosts(key, hosts));
    },

    /** The domains and URLs of a project's environments, by name. */
    async ofProject(project_id: string, tx?: Tx): Promise<(environment: string) => EnvironmentApp> {
      const own = await rows(tx).domainsOfProject({ project_id });
      const slugs = new Map((await rows(tx).ofProject({ project_id })).map((one) => [one.environment, one.slug]));
      return (environment) => {
        const slug = slugs.get(environment);
        const domains = own.filter((one) => one.environment === environment).map(({ name }) => name);
        if (!runtime) return domains.length > 0 ? { domains } : {};
        return { domains, url: slug === undefined ? null : urlOf(slug) };
      };
    },

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
        return prune(key);
      });
    },

    /** A deployment has ended without becoming active: nothing of it stays. */
    ended(tx: Tx, { id, project_id }: Pick<Deployment, "id" | "project_id">, isProjectGone = false): void {
      if (!runtime) return;
      afterCommit(tx, "ending a deployment's work", async () => {
        await runtime.abandon(id);
        if (isProjectGone) await runtime.forget(project_id);
      });
    },

    /** The URL of a deployment while its release is live. */
    urlOf({ id, project_id, environment }: Deployment): string | null {
      const live = supervisor?.liveIn({ project_id, environment });
      return live?.deployment_id === id ? urlOf(live.slug) : null;
    },

    /** Throws `no_previous_version` where nothing is live. */
    requireLive(key: AppKey): void {
      if (supervisor?.liveIn(key)) return;
      const message = supervisor
        ? `nothing is live in ${key.environment}; deploy to it first`
        : "deployments are simulated here, so there is nothing to restart; choose a runtime with --runtime";
      throw new Problem("no_previous_version", message);
    },

    /** Starts the live release anew with today's variables. Resolves once the new instance serves, or has failed. */
    async restart(key: AppKey): Promise<void> {
      await supervisor?.restart(key).catch((error) => {
        const message = `The restart failed: ${reasonOf(error)}; the app runs as before`;
        logs.append(key, [{ level: "error", message }]);
      });
    },

    async logs(key: AppKey, { follow, ...query }: LogsQuery, { resume, signal }: FollowOptions) {
      const { organization_id, project_id, environment } = key;
      if (follow === "true") {
        const changes = () => waiting.changes({ organization_id, id: logNameOf(key) }, signal());
        return new Stream(logs.follow(key, changes, parseLastEventId(resume)));
      }
      const filters = { organization_id, project_id, environment };
      return paginate(query, "environment logs", filters, rows().logs, { everything: true, key: "seq" });
    },

    ...createAppRemoval({ ...ports, supervisor, afterCommit }),

    /** At the start, before any job runs: finds out whether the runtime works here, and removes what is left over. */
    async begin(): Promise<void> {
      if (!runtime) return;
      const live = await rows().live({});
      await runtime.begin({
        async release(name) {
          const of = await deployments.ofRelease(name);
          if (!of) return false;
          if (of.isRunning) return true;
          return !!(await rows().find(of)) && (await deployments.releases(of)).slice(0, keep).includes(name);
        },
        project: async (project_id) => (await rows().ofProject({ project_id })).length > 0,
        async live(deployment_id) {
          const app = live.find((one) => one.deployment_id === deployment_id);
          return app && { since_ms: Date.parse((await rows().lastLog(app))?.timestamp ?? "1970-01-01T00:00:00Z") };
        },
      });
      // Environments that were made while deployments were simulated.
      await store.transaction(async (tx) => {
        for (const key of await rows(tx).withoutApp({})) await ensure(tx, key);
      });
    },

    /** Brings the live releases back, in the background. */
    async resume(): Promise<void> {
      if (!supervisor) return;
      const live = await rows().live({});
      for (const { organization_id, project_id, environment, slug, deployment_id } of live) {
        const key = { organization_id, project_id, environment };
        if (deployment_id === null) continue;
        void supervisor.resume(key, { deployment_id, slug, hosts: await hostsOf(key, slug) });
      }
    },

    /** Ends builds at once, and what runs once its requests are answered. The next start brings it back. */
    async close(drained: Promise<unknown>): Promise<void> {
      supervisor?.pause();
      await runtime?.close(drained);
    },
  };
}
