import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { runsForReal, type Settings } from "../config/parse-options.ts";
import { reachOf } from "../drivers/box/network.ts";
import { createEngineDriver } from "../drivers/containers/containers.ts";
import type { DeploymentDriver } from "../drivers/deployment/contract.ts";
import { simulatedDeployments } from "../drivers/deployment/simulated.ts";
import { closedOutbound } from "../drivers/outbound/closed-outbound.ts";
import { createOutbound } from "../drivers/outbound/outbound.ts";
import { createProcessDriver } from "../drivers/process/process.ts";
import { createRepositories, type Repositories } from "../drivers/repositories/repositories.ts";
import type { CodeHost } from "../drivers/runtime/git-command.ts";
import type { GitGroup } from "../drivers/runtime/limited-git.ts";
import { createRuntimeList } from "../drivers/runtime/runtime-list.ts";
import { temporaryFolder } from "../drivers/runtime/temporary-folder.ts";
import { type Crowd, keepOpen } from "../http/connections.ts";
import { type Listening, listen, type Upgrade } from "../http/server.ts";
import { type AppsProxy, createProxy } from "../proxy/proxy.ts";
import { dataFolderFor } from "../store/data-files.ts";
import { repositoryFolderFor } from "../store/repository-files.ts";
import { takeAppsFolder } from "./apps-folder.ts";

/** The runtimes of deployments, and the port of the apps. All states of a service share them. */
export interface Runtimes {
  readonly driver: DeploymentDriver;
  readonly proxy: AppsProxy;
  /** The git repositories that this server hosts; undefined without a runtime. */
  readonly repositories: Repositories | undefined;
  /** `http://localhost:8080`; undefined while the port of the apps is closed. */
  readonly localUrl: () => string | undefined;
  /** The public form of that URL: the option `apps.url`, or else the local URL. */
  readonly appsUrl: () => string | undefined;
  /**
   * The name by which the other servers know this server's runtime; undefined without a runtime, and for a database
   * file.
   */
  readonly id: string | undefined;
  /** Opens the port of the apps; does nothing without a runtime. */
  open(crowd: Crowd): Promise<void>;
  close(): Promise<void>;
  /** Releases the folder to other processes, once nothing runs there. */
  release(): void;
}

/** Requests have no time limit, because an app may take a long upload. */
const timeouts = { headersTimeout: 60_000, requestTimeout: 0, connectionsCheckingInterval: 5_000 };
/** During shutdown, requests and apps share ten seconds. */
const closingGrace = "5s";

export function createRuntimes(settings: Settings): Runtimes {
  const { deployments, apps, behindProxy } = settings;
  const proxy = createProxy({ behindProxy });
  // With a database file, the apps' folder lies beside it.
  const folder = apps.folder !== undefined && runsForReal(settings) ? takeAppsFolder(apps.folder) : undefined;
  const real = deployments.driver === undefined && runsForReal(settings) ? realFolders(settings) : undefined;
  const gitGroup: GitGroup = { entries: [] };
  const repositories = real && createRepositories(real.repositories, settings.repositories, gitGroup);
  const driver =
    deployments.driver ??
    (real ? realDriver(settings, { ...real, gitGroup, own: repositories?.open }) : simulatedDeployments());
  let server: Listening | undefined;
  const upgrade: Upgrade = (request, socket, head) => {
    keepOpen(request.socket);
    return proxy.upgrade(request, socket, head);
  };
  const localUrl = () => server && `http://${apps.domain}${server.port === 80 ? "" : `:${server.port}`}`;
  return {
    driver,
    proxy,
    repositories,
    id: folder?.id,
    release: () => folder?.release(),
    localUrl,
    appsUrl: () => (server ? (apps.url ?? localUrl()) : undefined),
    async open(crowd) {
      if (driver.runtime)
        server = await listen(
          { handle: proxy.handle, upgrade, crowd, descriptors: 2 },
          { port: apps.port, host: apps.host },
          timeouts,
        );
    },
    async close() {
      repositories?.close();
      await server?.close(closingGrace);
      server = undefined;
    },
  };
}

/** The folders of builds, releases and repositories. */
function realFolders({ database, apps, repositories }: Settings) {
  const isLasting = database !== ":memory:";
  const folder = isLasting ? resolve(apps.folder ?? `${database}-apps`) : temporaryFolder();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lying =
    repositories.folder ?? (isLasting ? repositoryFolderFor(database, folder) : join(folder, "repositories"));
  return { isLasting, folder, repositories: resolve(lying), data: resolve(dataFolderFor(database, folder)) };
}

interface Folders {
  readonly isLasting: boolean;
  readonly folder: string;
  readonly data: string;
  readonly own: CodeHost["own"] | undefined;
  readonly gitGroup: GitGroup;
}

/** The file systems for builds that the operator names. */
export const preparedDisks = ({ buildDisks, buildDisk, concurrency }: Settings["deployments"]) =>
  buildDisks === undefined ? undefined : { folder: resolve(buildDisks), count: concurrency, bytes: buildDisk };

function realDriver(
  { mode, strict, outbound, deployments, codeHost: given }: Settings,
  { isLasting, folder, data, own, gitGroup }: Folders,
): DeploymentDriver {
  const {
    isolation,
    users,
    reach,
    appMemory,
    dataLimit,
    healthTimeout,
    buildVariables,
    buildTimeout,
    buildMemory,
    buildDisk,
    registries,
  } = deployments;
  const codeHost: CodeHost = { ...given, ...(own && { own }) };
  const common = {
    codeHost,
    gitGroup,
    appMemory_bytes: appMemory,
    healthTimeout_ms: healthTimeout,
    dataLimit_bytes: dataLimit,
    dataFolder: data,
    buildVariables,
    limits: { timeout_ms: buildTimeout, memory_bytes: buildMemory, disk_bytes: buildDisk },
  };
  const network = strict ? closedOutbound : createOutbound({ mode, allow: outbound.allow });
  const leavesDockerfiles = deployments.runtime.includes("engine");
  const made = deployments.runtime.map((name) =>
    name === "engine"
      ? createEngineDriver(folder, { registries, outbound: network, isLasting, ...common })
      : createProcessDriver(folder, {
          isolation,
          users,
          reach: reachOf(reach, outbound.allow),
          disks: preparedDisks(deployments),
          leavesDockerfiles,
          ...common,
        }),
  );
  return createRuntimeList(made);
}
