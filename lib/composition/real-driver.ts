import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Settings } from "../config/parse-options.ts";
import type { DeploymentDriver } from "../drivers/deployment/contract.ts";
import { closedOutbound } from "../drivers/outbound/closed-outbound.ts";
import { createOutbound } from "../drivers/outbound/outbound.ts";
import { reachOf } from "../platform/box/network.ts";
import { createEngineRuntime } from "../platform/containers/containers.ts";
import { createProcessRuntime } from "../platform/process/process.ts";
import { createRepositories } from "../platform/repositories/repositories.ts";
import { createRuntimeDriver } from "../platform/runtime/driver.ts";
import type { CodeHost } from "../platform/runtime/git-command.ts";
import type { GitGroup } from "../platform/runtime/limited-git.ts";
import { temporaryFolder } from "../platform/runtime/temporary-folder.ts";
import { dataFolderFor } from "../store/data-files.ts";
import { repositoryFolderFor } from "../store/repository-files.ts";

/** The driver that runs deployed code, with the git repositories that this server hosts. */
export function createRealDriver(settings: Settings) {
  const folders = realFolders(settings);
  const gitGroup: GitGroup = { entries: [] };
  const repositories = createRepositories(folders.repositories, settings.repositories, gitGroup);
  return { driver: driverOf(settings, { ...folders, gitGroup, own: repositories.open }), repositories };
}

function realFolders({ database, apps, repositories }: Settings) {
  const isLasting = database !== ":memory:";
  const folder = isLasting ? resolve(apps.folder ?? `${database}-apps`) : temporaryFolder();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const repositoriesFolder =
    repositories.folder ?? (isLasting ? repositoryFolderFor(database, folder) : join(folder, "repositories"));
  const data = resolve(dataFolderFor(database, folder));
  return { isLasting, folder, repositories: resolve(repositoriesFolder), data };
}

interface Folders {
  readonly isLasting: boolean;
  readonly folder: string;
  readonly data: string;
  readonly own: CodeHost["own"] | undefined;
  readonly gitGroup: GitGroup;
}

export const preparedDisks = ({ buildDisks, buildDisk, concurrency }: Settings["deployments"]) =>
  buildDisks === undefined ? undefined : { folder: resolve(buildDisks), count: concurrency, bytes: buildDisk };

function driverOf(
  { mode, strict, outbound, deployments, codeHost: given }: Settings,
  { isLasting, folder, data, own, gitGroup }: Folders,
): DeploymentDriver {
  const codeHost: CodeHost = { ...given, ...(own && { own }) };
  const { runtime, buildTimeout, buildMemory, buildDisk, registries } = deployments;
  const common = {
    codeHost,
    gitGroup,
    appMemory_bytes: deployments.appMemory,
    healthTimeout_ms: deployments.healthTimeout,
    scratch_bytes: deployments.scratch,
    dataLimit_bytes: deployments.dataLimit,
    dataFolder: data,
    buildVariables: deployments.buildVariables,
    limits: { timeout_ms: buildTimeout, memory_bytes: buildMemory, disk_bytes: buildDisk },
  };
  const network = strict ? closedOutbound : createOutbound({ mode, allow: outbound.allow });
  const kinds = runtime.map((name) =>
    name === "engine"
      ? createEngineRuntime(folder, { registries, outbound: network, isLasting, ...common })
      : createProcessRuntime(folder, {
          isolation: deployments.isolation,
          users: deployments.users,
          reach: reachOf(deployments.reach, outbound.allow),
          disks: preparedDisks(deployments),
          leavesDockerfiles: runtime.includes("engine"),
          ...common,
        }),
  );
  return createRuntimeDriver(kinds);
}
