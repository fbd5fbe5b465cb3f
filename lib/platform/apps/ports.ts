import type { Runtime } from "../../drivers/deployment/contract.ts";
import type { StoredReleases } from "../../features/deployments/stored-releases.ts";
import type { Domains } from "../../features/environments/domains.ts";
import type { Bus } from "../../features/events/bus.ts";
import type { ChangeFeed } from "../../features/events/change-feed.ts";
import type { Waiting } from "../../features/events/wait-for-change.ts";
import type { CrashMail } from "../../features/mails/crash-mail.ts";
import type { Queue } from "../../jobs/queue.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Ids } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { AppsProxy } from "../proxy/proxy.ts";

export interface ThisServer {
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
  readonly keep: number;
  readonly dataLimit: number;
}

export interface Addresses {
  readonly proxy: AppsProxy;
  /** `http://localhost:8080`; undefined while the port of the apps is closed. */
  readonly appsUrl: () => string | undefined;
  /** The domains of the options `apps.domain` and `apps.url`. */
  readonly domains: readonly string[];
  /** The hosts of the service itself, which no app may use. */
  readonly ownHosts: readonly string[];
}

/** The ports of other rooms that apps use. */
export interface ServicePorts {
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
  readonly custom: Domains;
}

/** Each part of this folder picks what it needs. */
export type AppPorts = ServicePorts & ThisServer & Addresses;
