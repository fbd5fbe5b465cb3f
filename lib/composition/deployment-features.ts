import { domainsOf, type Settings } from "../config/parse-options.ts";
import { closedTextRecords, mutedTextRecords } from "../drivers/outbound/closed-outbound.ts";
import type { Outbound } from "../drivers/outbound/outbound.ts";
import { createTextRecords } from "../drivers/outbound/text-records.ts";
import type { Core } from "../features/core.ts";
import type { Endpoints } from "../features/deliveries/service.ts";
import { createCommitStatuses } from "../features/deployments/commit-statuses.ts";
import { createRollout } from "../features/deployments/rollout.ts";
import { type DeploymentsService, deploymentsService } from "../features/deployments/service.ts";
import { createStoredReleases, type StoredReleases } from "../features/deployments/stored-releases.ts";
import { createDomains } from "../features/environments/domains.ts";
import type { Environment, LiveApps } from "../features/environments/live-apps.ts";
import { noLiveApps } from "../features/environments/no-live-apps.ts";
import { type EnvironmentsService, environmentsService } from "../features/environments/service.ts";
import { driverVariables } from "../features/environments/stored-variables.ts";
import { createOpenPreviews } from "../features/integrations/open-previews.ts";
import { previewsService } from "../features/integrations/previews.ts";
import type { CrashMail } from "../features/mails/crash-mail.ts";
import type { CodeHostRights } from "../features/organizations/code-host-rights.ts";
import { type ProjectName, projectsService } from "../features/projects/service.ts";
import type { ScenariosService } from "../features/scenarios/service.ts";
import { parseUrl } from "../kernel/text/url.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { CodeHost } from "../platform/code-host/code-host.ts";
import type { Foundation } from "./open-store.ts";
import type { RuntimePorts } from "./runtimes.ts";

/** What the features share. */
export interface FeatureCore extends Foundation, Pick<Core, "feed" | "waiting" | "bus" | "queue" | "origin"> {
  readonly projectName: ProjectName;
  readonly outbound: Outbound;
}

interface DeployingPorts extends FeatureCore, RuntimePorts {
  readonly isMuted?: boolean;
  readonly rights: CodeHostRights;
  readonly mailCrash: CrashMail;
  readonly isOnly: (organization_id: string, tx?: Tx) => Promise<boolean>;
  /** Undefined in the mode `start`. */
  readonly scenarios: ScenariosService | undefined;
  readonly endpoints: Endpoints;
}

/**
 * The first entry in the log of every simulated deployment of `start` (fixtures/hosting/apps.md#deployments-that-really-run).
 */
const noticesOf = ({ mode, deployments }: Settings, isSimulated: boolean) =>
  mode === "start" && !deployments.driver && isSimulated
    ? [
        "This deployment is simulated: nothing is built and nothing runs, because the service has no runtime (option --runtime)",
      ]
    : [];

/** The hosts of the service itself, which no environment may take. Invalid hosts are left out. */
const ownHostsOf = ({ publicUrl, hosts }: Settings) =>
  [publicUrl ?? [], hosts.map((host) => `http://${host}`)].flat().flatMap((url) => parseUrl(url)?.hostname ?? []);

function createApps(ports: DeployingPorts, settings: Settings, deployments: StoredReleases) {
  const { driver, opened, platform, proxy, runtimeId, appsUrl } = ports;
  const { apps: state, keep, dataLimit } = settings.deployments;
  const addresses = { domains: domainsOf(settings.apps), ownHosts: ownHostsOf(settings) };
  const domains = createDomains({
    ...ports,
    ...addresses,
    textRecords: ports.isMuted
      ? mutedTextRecords
      : settings.strict
        ? closedTextRecords
        : createTextRecords(settings.domains.servers),
    verifies: async (tx, id) => settings.domains.verify ?? (settings.mode === "start" && !(await ports.isOnly(id, tx))),
    changed: (tx, key) => apps.accessChanged(tx, key),
  });
  const server = {
    runtime: driver.runtime,
    runtimeId,
    isShared: opened.cluster !== undefined,
    forgetsRuntimes: settings.isSimulatedByChoice === true,
    areStopped: state === "stopped",
    keep,
    dataLimit,
  };
  const apps: LiveApps =
    platform && proxy
      ? platform.appsService({
          ...ports,
          server,
          custom: domains,
          deployments,
          addresses: { ...addresses, proxy, appsUrl },
        })
      : noLiveApps({ ...ports, domains });
  return { domains, apps };
}

export function createDeploying(ports: DeployingPorts, settings: Settings) {
  const { driver, scenarios, platform } = ports;
  const { concurrency, concurrencyPerOrganization, autoRollback } = settings.deployments;
  const read = {
    variables: driverVariables(ports),
    // A simulation fetches nothing.
    mayFetch: async (organization_id: string, repo: string) =>
      driver.takesScenarios !== true && ports.rights.mayFetch(organization_id, repo),
    visitedAt: (of: Environment) => apps.visitedAt(of),
  };
  const { domains, apps } = createApps(ports, settings, createStoredReleases({ ...ports, ...read }));
  const runtimeOf = apps.runtimeName;
  /** By default an organization gets half of all slots; for simulated work, or if it is the only one, all of them. */
  const concurrencyLimit = async (tx: Tx | undefined, organization_id: string) => {
    if (concurrencyPerOrganization !== undefined) return concurrencyPerOrganization;
    if (runtimeOf() === undefined || (await ports.isOnly(organization_id, tx))) return concurrency;
    return Math.max(1, Math.floor(concurrency / 2));
  };
  const codeHost =
    settings.codeHost.token === undefined ? undefined : platform?.createCodeHost(settings.codeHost, ports.outbound);
  const statuses = createStatuses({ ...ports, codeHost, apps }, settings);
  const rollout = createRollout({ ...ports, ...read, apps, concurrency, concurrencyLimit, autoRollback, statuses });
  apps.onBack(rollout.resume);
  const openPreviews = createOpenPreviews(ports);
  const projects = projectsService({
    ...ports,
    regions: settings.regions,
    removeContents: async (tx: Tx, id: string) =>
      (await deployments.removeBatch(tx, id)) && (await apps.removeBatch(tx, id)) && environments.removeBatch(tx, id),
    async onRemove(tx, key) {
      await apps.projectRemoved(tx, key.id);
      await ports.endpoints.projectRemoved(tx, key);
    },
    onRemoved: rollout.startReady,
  });
  const environments: EnvironmentsService = environmentsService({
    ...ports,
    projects,
    apps,
    domains,
    rollout,
    previews: openPreviews,
  });
  const deployments: DeploymentsService = deploymentsService({
    ...ports,
    projects,
    environments,
    rollout,
    apps,
    // If another server runs deployments for real, this one simulates nothing, not even the time in the queue.
    driver: { delay: (work) => (driver.runtime || !runtimeOf() ? driver.delay(work) : 0) },
    refusalOf: (source) =>
      driver.runtime
        ? driver.runtime.refuses(source)
        : runtimeOf() && platform?.refusalOf(runtimeOf()?.split(",") ?? [], source),
    notices: () => noticesOf(settings, runtimeOf() === undefined),
    scenarios: driver.takesScenarios ? scenarios : undefined,
  });
  const lifetime_ms = settings.previewLifetime;
  const previews = previewsService({ ...ports, codeHost, environments, deployments, lifetime_ms });
  return { apps, domains, rollout, statuses, projects, environments, deployments, previews };
}

/** Reports the status of commit deployments to the code host, if there is a token for it. */
function createStatuses(
  ports: DeployingPorts & { readonly codeHost: CodeHost | undefined; readonly apps: LiveApps },
  { dashboard }: Settings,
) {
  const { origin, repositories, apps } = ports;
  return createCommitStatuses({
    ...ports,
    isOwn: async (of, commit) => (await repositories?.open(of, commit)) !== undefined,
    async urlOf(row) {
      const url = apps.urlsOf ? (await apps.urlsOf([row]))(row) : apps.urlOf(row);
      return url ?? `${origin()}/${dashboard ? "dashboard" : "v1"}/deployments/${row.id}`;
    },
  });
}
