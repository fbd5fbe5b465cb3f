import type { AppKey } from "../../features/environments/live-apps.ts";
import { createRuntimeJobs } from "../../jobs/runtime-jobs.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { createRowFollower } from "./follow-rows.ts";
import { createOtherServers } from "./other-servers.ts";
import type { Placement } from "./placement.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";
import { createRegistry } from "./runtime-leases.ts";
import type { Supervisor } from "./supervisor.ts";
import { hostsUnder } from "./urls.ts";

type Needed = "store" | "clock" | "ids" | "log" | "feed" | "queue" | "domains" | "custom" | "appsUrl" | "runtime";

interface Ports extends Pick<AppPorts, Needed | "runtimeId" | "forgetsRuntimes"> {
  readonly supervisor: Supervisor | undefined;
  /** Assigns an environment its host, whether or not this server knows of a runtime. */
  readonly ensure: (tx: Tx, key: AppKey) => Promise<void>;
  /** Called when this server takes over environments of another server. */
  readonly onTaken: () => Promise<unknown>;
}

/** Several servers share the database. Each environment runs on one of those that have a runtime. */
export function createSeveralServers(ports: Ports): Placement {
  const { store, feed, domains, runtime, runtimeId, supervisor } = ports;
  const own = runtime && runtimeId !== undefined ? { id: runtimeId, names: runtime.name } : undefined;
  const rows = store.using(appsRepository);
  const jobs = createRuntimeJobs(store);
  const tellOthers = (tx: Tx) => feed.wake(tx, "runtimes");
  const registry = createRegistry({ ...ports, own, jobs, tellOthers });
  const others = createOtherServers({ ...ports, jobs, registry });
  const follower = createRowFollower({ ...ports, registry, ownHostsOf: (slug) => hostsUnder(domains, slug) });
  const isHere: Placement["isHere"] = ({ runtime_id }) => runtime_id === null || runtime_id === own?.id;

  return {
    runtimeId: own?.id,
    runtimeName: () => runtime?.name ?? registry.names(),
    runtimes: registry.known,
    isHere,
    server: others.server,
    async elsewhere(key, tx) {
      const app = await rows(tx).find(key);
      return app && !isHere(app) ? others.server(app.runtime_id ?? "") : undefined;
    },
    async appElsewhere(host) {
      const app = await others.atHost(host);
      return app && !isHere(app) ? app : undefined;
    },
    appsUrl: (runtime_id) => registry.find(runtime_id)?.apps_url || ports.appsUrl(),
    async isLive(tx, key) {
      const app = await rows(tx).find(key);
      if (!app?.deployment_id) return supervisor?.liveIn(key) !== undefined;
      if (!isHere(app)) others.requireUp(app.runtime_id);
      return true;
    },
    async live(environments) {
      const keys = new Map(environments.map((one) => [`${one.project_id} ${one.environment}`, one]));
      const found = await Promise.all([...keys.values()].map((key) => rows().find(key)));
      return new Map(found.flatMap((app) => (app?.deployment_id ? [[app.deployment_id, app]] : [])));
    },

    assign: (tx, key) => registry.choose(tx, key, () => ports.ensure(tx, key)),
    isHeld: registry.isHeld,
    obstacle: follower.obstacle,
    onBack: follower.onBack,
    tellOthers,
    tellRestarted: others.tellRestarted,

    /** Refuses to start with a runtime that differs from the other servers': each accepts only some kinds of sources. */
    async begin() {
      if (own || ports.forgetsRuntimes) await registry.forget(own?.names);
      const other = (await registry.look()).find(({ names }) => own && names !== own.names);
      if (other)
        throw new Error(
          `the server ${other.host} runs deployments with the runtime ${other.names}; start this one with --runtime ${other.names} too, or without a runtime`,
        );
    },
    async open() {
      await registry.register();
      await follower.look();
    },
    end: follower.end,
  };
}
