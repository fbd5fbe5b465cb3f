import { runsForReal, type Settings } from "../config/parse-options.ts";
import type { DeploymentDriver } from "../drivers/deployment/contract.ts";
import { simulatedDeployments } from "../drivers/deployment/simulated.ts";
import { type Crowd, keepOpen } from "../http/limits/connections.ts";
import { type Listening, listen, type Upgrade } from "../http/server.ts";
import { createPasswordHashes, type PasswordHashes } from "../kernel/secrets/password-hash.ts";
import type { AppsProxy } from "../platform/proxy/proxy.ts";
import type { Repositories } from "../platform/repositories/repositories.ts";
import { takeAppsFolder } from "./apps-folder.ts";
import type { Platform } from "./platform.ts";

/** The runtimes of deployments, and the port of the apps. All states of a service share them. */
export interface Runtimes {
  readonly driver: DeploymentDriver;
  /** Undefined if nothing builds or runs apps. */
  readonly platform: Platform | undefined;
  readonly proxy: AppsProxy | undefined;
  readonly passwords: PasswordHashes;
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
  readonly runtimeId: string | undefined;
  /** Opens the port of the apps; does nothing without a runtime. */
  open(crowd: Crowd): Promise<void>;
  close(): Promise<void>;
  /** Releases the folder to other processes, once nothing runs there. */
  release(): void;
}

export type RuntimePorts = Omit<Runtimes, "localUrl" | "open" | "close" | "release">;

/** Requests have no time limit, because an app may take a long upload. */
const timeouts = { headersTimeout: 60_000, requestTimeout: 0, connectionsCheckingInterval: 5_000 };
/** During shutdown, requests and apps share ten seconds. */
const closingGrace = "5s";

export function createRuntimes(settings: Settings, platform: Platform | undefined): Runtimes {
  const { deployments, apps, behindProxy } = settings;
  const passwords = createPasswordHashes();
  const proxy = platform?.createProxy({ behindProxy, passwords });
  // Without the option, the folder lies beside the database file, whose lock covers it.
  const folder = apps.folder !== undefined && runsForReal(settings) ? takeAppsFolder(apps.folder) : undefined;
  const real =
    deployments.driver === undefined && runsForReal(settings) ? platform?.createRealDriver(settings) : undefined;
  const driver = deployments.driver ?? real?.driver ?? simulatedDeployments();
  let server: Listening | undefined;
  const localUrl = () => server && `http://${apps.domain}${server.port === 80 ? "" : `:${server.port}`}`;
  return {
    driver,
    ...{ platform, proxy, passwords },
    repositories: real?.repositories,
    runtimeId: folder?.id,
    release: () => folder?.release(),
    localUrl,
    appsUrl: () => (server ? (apps.url ?? localUrl()) : undefined),
    async open(crowd) {
      if (!driver.runtime || !proxy) return;
      const upgrade: Upgrade = (request, socket, head) => {
        keepOpen(request.socket);
        return proxy.upgrade(request, socket, head);
      };
      server = await listen(
        { handle: proxy.handle, upgrade, crowd, descriptors: 2 },
        { port: apps.port, host: apps.host },
        timeouts,
      );
    },
    async close() {
      real?.repositories.close();
      await server?.close(closingGrace);
      server = undefined;
    },
  };
}
