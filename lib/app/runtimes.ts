import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { runsForReal, type Settings } from "../config/parse-options.ts";
import { reachOf } from "../drivers/box/network.ts";
import type { DeploymentDriver } from "../drivers/deployment/contract.ts";
import { createRuntimeList } from "../drivers/deployment/runtime-list.ts";
import { simulatedDeployments } from "../drivers/deployment/simulated.ts";
import { createEngineDriver } from "../drivers/engine/engine.ts";
import { closedOutbound } from "../drivers/outbound/closed-outbound.ts";
import { createOutbound } from "../drivers/outbound/outbound.ts";
import { createProcessDriver } from "../drivers/process/process.ts";
import { temporaryFolder } from "../drivers/process/temporary-folder.ts";
import { type Crowd, keepOpen } from "../http/connections.ts";
import { type Listening, listen, type Upgrade } from "../http/server.ts";
import { type AppsProxy, createProxy } from "../proxy/proxy.ts";
import { takeAppsFolder } from "./apps-folder.ts";

/** What deployments run on, and the way in to it. One for a service, whatever state it is in. */
export interface Runtimes {
  readonly driver: DeploymentDriver;
  readonly proxy: AppsProxy;
  /** `http://localhost:8080`; undefined while the port of the apps is closed. */
  readonly localUrl: () => string | undefined;
  /** The same as people open it: the option `apps.url`, else the local one. */
  readonly appsUrl: () => string | undefined;
  /** What other servers of the service know this one's runtime by; undefined without a runtime, and for a database file. */
  readonly id: string | undefined;
  /** Opens the port of the apps; does nothing where none run. */
  open(crowd: Crowd): Promise<void>;
  close(): Promise<void>;
  /** Lets another process have the folder, once nothing runs there any more. */
  release(): void;
}

/** An app may take an upload of any length, so a request as a whole has no limit of time. */
const timeouts = { headersTimeout: 60_000, requestTimeout: 0, connectionsCheckingInterval: 5_000 };
/** While the server stops, requests and apps together have ten seconds. */
const closingGrace = "5s";

export function createRuntimes(settings: Settings): Runtimes {
  const { deployments, apps, behindProxy } = settings;
  const proxy = createProxy({ behindProxy });
  // A database file has its apps beside it.
  const folder = apps.folder !== undefined && runsForReal(settings) ? takeAppsFolder(apps.folder) : undefined;
  const driver = deployments.driver ?? (runsForReal(settings) ? realDriver(settings) : simulatedDeployments());
  let server: Listening | undefined;
  const upgrade: Upgrade = (request, socket, head) => {
    keepOpen(request.socket);
    return proxy.upgrade(request, socket, head);
  };
  const localUrl = () => server && `http://${apps.domain}${server.port === 80 ? "" : `:${server.port}`}`;
  return {
    driver,
    proxy,
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
      await server?.close(closingGrace);
      server = undefined;
    },
  };
}

function realDriver({ mode, strict, outbound, database, deployments, apps, codeHost }: Settings): DeploymentDriver {
  const { isolation, users, reach, appMemory, healthTimeout, buildTimeout, buildMemory, buildDisk, registries } =
    deployments;
  const isLasting = database !== ":memory:";
  const folder = isLasting ? resolve(apps.folder ?? `${database}-apps`) : temporaryFolder();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const common = {
    codeHost,
    appMemory_bytes: appMemory,
    healthTimeout_ms: healthTimeout,
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
          leavesDockerfiles,
          ...common,
        }),
  );
  return createRuntimeList(made);
}
