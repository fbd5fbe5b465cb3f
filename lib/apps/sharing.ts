import type { ChangeFeed } from "../events/change-feed.ts";
import type { Queue } from "../jobs/queue.ts";
import { createRuntimeJobs } from "../jobs/runtime-jobs.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { createRowFollower } from "./follow-rows.ts";
import { createOtherServers } from "./other-servers.ts";
import { createRegistry } from "./runtime-leases.ts";
import type { AppKey, Supervisor } from "./supervisor.ts";
import { hostsUnder } from "./urls.ts";

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly feed: ChangeFeed;
  readonly queue: Queue;
  readonly domains: readonly string[];
  readonly appsUrl: () => string | undefined;
  /** The runtime of this server, if it has one. */
  readonly own: { readonly id: string; readonly names: string } | undefined;
  readonly supervisor: Supervisor | undefined;
  /** Whether the option `deployments.runtime` is `simulated`. If so, runtimes that are down will not return. */
  readonly forgetsRuntimes: boolean;
  /** Called when deployments can continue. */
  readonly onBack: () => Promise<unknown>;
  /** Assigns an environment its host, whether or not this server knows of a runtime. */
  readonly ensure: (tx: Tx, key: AppKey) => Promise<void>;
  /** Called when this server takes over environments of another server. */
  readonly onTaken: () => Promise<unknown>;
}

/** For several servers on one database: their runtimes, and the orders between the servers. */
export function createSharing(ports: Ports) {
  const { store, feed, domains, own } = ports;
  const jobs = createRuntimeJobs(store);
  const tellOthers = (tx: Tx) => feed.wake(tx, "runtimes");
  const registry = createRegistry({ ...ports, jobs, tellOthers });
  const others = createOtherServers({ ...ports, jobs, registry });
  const rows = createRowFollower({ ...ports, registry, ownHostsOf: (slug) => hostsUnder(domains, slug) });
  return {
    registry,
    others,
    runtimeId: own?.id,
    rows,
    tellOthers,

    /**
     * Runs before anything else. Refuses to start with a different runtime from the other servers: otherwise the server
     * would decide which sources can be deployed.
     */
    async begin(): Promise<void> {
      if (own || ports.forgetsRuntimes) await registry.forget(own?.names);
      const other = (await registry.look()).find(({ names }) => own && names !== own.names);
      if (other)
        throw new Error(
          `the server ${other.host} runs deployments with the runtime ${other.names}; start this one with --runtime ${other.names} too, or without a runtime`,
        );
    },

    async open(): Promise<void> {
      await registry.register();
      await rows.look();
    },

    /** The runtime for a deployment; null if it needs none, undefined if none is up. */
    async assign(tx: Tx, key: AppKey): Promise<string | null | undefined> {
      return registry.choose(tx, key, () => ports.ensure(tx, key));
    },
  };
}

export type Sharing = ReturnType<typeof createSharing>;
