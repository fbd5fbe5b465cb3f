import { type AppsService, appsService } from "../apps/service.ts";
import { domainsOf, type Settings } from "../config/parse-options.ts";
import { createProjectRemoval } from "../deployments/project-removal.ts";
import { createRollout } from "../deployments/rollout.ts";
import { deploymentsService } from "../deployments/service.ts";
import { createStoredReleases } from "../deployments/stored-releases.ts";
import type { DeploymentDriver } from "../drivers/deployment/contract.ts";
import { refusalOf } from "../drivers/deployment/refused-sources.ts";
import { createTextRecords } from "../drivers/outbound/text-records.ts";
import { environmentsService } from "../environments/service.ts";
import type { Bus } from "../events/bus.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { Waiting } from "../events/wait-for-change.ts";
import type { Queue } from "../jobs/queue.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { CodeHostRights } from "../organizations/code-host-rights.ts";
import { projectsService } from "../projects/service.ts";
import type { AppsProxy } from "../proxy/proxy.ts";
import type { ScenariosService } from "../scenarios/service.ts";
import type { Foundation } from "./open-store.ts";

interface DeployingPorts extends Foundation {
  readonly feed: ChangeFeed;
  readonly waiting: Waiting;
  readonly bus: Bus;
  readonly queue: Queue;
  readonly driver: DeploymentDriver;
  readonly proxy: AppsProxy;
  /** What other servers know the runtime by. */
  readonly runtimeId: string | undefined;
  /** The URL of the apps; undefined while their port is closed. */
  readonly appsUrl: () => string | undefined;
  readonly rights: CodeHostRights;
  /** Whether the service has no other organization. */
  readonly isOnly: (organization_id: string, tx?: Tx) => Promise<boolean>;
  /** Undefined in the mode `start`. */
  readonly scenarios: ScenariosService | undefined;
}

/** CONTRACT section 11: "`start` without a runtime is simulated, and says so … in the first log entry of every deployment". */
const noticesOf = ({ mode, deployments }: Settings, isSimulated: boolean) =>
  mode === "start" && !deployments.driver && isSimulated
    ? [
        "This deployment is simulated: nothing is built and nothing runs, because the service has no runtime (option --runtime)",
      ]
    : [];

/** Makes what is deployed and where to: projects, environments, deployments, and what runs of them. */
export function createDeploying(ports: DeployingPorts, settings: Settings) {
  const { driver, scenarios, opened } = ports;
  const { concurrency, concurrencyPerOrganization, autoRollback, keep } = settings.deployments;
  const read = {
    variables: (of: { project_id: string; name: string }) => environments.values(of),
    // A simulation fetches nothing.
    mayFetch: async (organization_id: string, repo: string) =>
      driver.takesScenarios !== true && ports.rights.mayFetch(organization_id, repo),
  };
  const apps: AppsService = appsService({
    ...ports,
    keep,
    areStopped: settings.deployments.apps === "stopped",
    runtime: driver.runtime,
    isShared: opened.shared !== undefined,
    forgetsRuntimes: settings.isSimulatedByChoice === true,
    onBack: () => rollout.resume(),
    domains: domainsOf(settings.apps),
    textRecords: createTextRecords(settings.domains.servers),
    verifies: async (tx, id) => settings.domains.verify ?? (settings.mode === "start" && !(await ports.isOnly(id, tx))),
    ownHost: settings.publicUrl && new URL(settings.publicUrl).hostname,
    projectName: (tx, organization_id, id) => projects.nameOf(tx, organization_id, id),
    deployments: createStoredReleases({ ...ports, ...read }),
    onEnvironmentRemoved: (tx, key) => rollout.environmentRemoved(tx, key),
  });
  const runtimeOf = apps.runtimeName;
  /** By default only real work is shared out, and only where there is somebody to share it with. */
  const mostOf = async (tx: Tx, organization_id: string) => {
    if (concurrencyPerOrganization !== undefined) return concurrencyPerOrganization;
    if (runtimeOf() === undefined || (await ports.isOnly(organization_id, tx))) return concurrency;
    return Math.max(1, Math.floor(concurrency / 2));
  };
  const rollout = createRollout({ ...ports, ...read, apps, concurrency, mostOf, autoRollback });
  const removeDeployments = createProjectRemoval(ports);
  const projects = projectsService({
    ...ports,
    regions: settings.regions,
    removeContents: async (tx: Tx, id: string) =>
      (await removeDeployments(tx, id)) && (await apps.removeBatch(tx, id)) && environments.removeBatch(tx, id),
    onRemove: apps.projectRemoved,
    onRemoved: rollout.startReady,
  });
  const environments = environmentsService({ ...ports, projects, apps });
  const deployments = deploymentsService({
    ...ports,
    projects,
    environments,
    rollout,
    apps,
    // Where another server runs it for real, nothing is simulated here, its time in the queue neither.
    driver: { delay: (work) => (driver.runtime || !runtimeOf() ? driver.delay(work) : 0) },
    refusalOf: (source) =>
      driver.runtime ? driver.runtime.refuses(source) : runtimeOf() && refusalOf(runtimeOf()?.split(",") ?? [], source),
    notices: () => noticesOf(settings, runtimeOf() === undefined),
    scenarios: driver.takesScenarios ? scenarios : undefined,
  });
  return { apps, rollout, projects, environments, deployments };
}
