import type { AppKey } from "../../features/environments/live-apps.ts";
import { createRuntimeJobs, kindAt } from "../../jobs/runtime-jobs.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { createRowFollower } from "./follow-rows.ts";
import type { OtherServer, Placement } from "./placement.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";
import { createRegistry } from "./runtime-leases.ts";
import type { Supervisor } from "./supervisor.ts";
import { hostsUnder } from "./urls.ts";

type Needed = "store" | "clock" | "ids" | "log" | "feed" | "queue" | "domains" | "appsUrl" | "runtime";

interface Ports extends Pick<AppPorts, Needed | "runtimeId" | "forgetsRuntimes"> {
  readonly supervisor: Supervisor | undefined;
  /** Assigns an environment its host, whether or not this server knows of a runtime. */
  readonly ensure: (tx: Tx, key: AppKey) => Promise<void>;
  readonly onTaken: () => Promise<unknown>;
}

/** How often a waiting request checks whether its work is done. Usually a message arrives first. */
const pause = "1s";

const isDown = () => {
  const message = "the server that runs this environment is down; it starts the live release when it is back";
  return new Problem("unavailable", message, { headers: { "retry-after": "5" } });
};

/** Several servers share the database. Each environment runs on one of those that have a runtime. */
export function createSeveralServers(ports: Ports): Placement {
  const { store, ids, feed, queue, domains, runtime, runtimeId, supervisor } = ports;
  const own = runtime && runtimeId !== undefined ? { id: runtimeId, names: runtime.name } : undefined;
  const rows = store.using(appsRepository);
  const jobs = createRuntimeJobs(store);
  const tellOthers = (tx: Tx) => feed.wake(tx, "runtimes");
  const registry = createRegistry({ ...ports, own, jobs, tellOthers });
  const follower = createRowFollower({ ...ports, registry, ownHostsOf: (slug) => hostsUnder(domains, slug) });
  const isHere: Placement["isHere"] = ({ runtime_id }) => runtime_id === null || runtime_id === own?.id;

  const requireUp = (runtime_id: string | null) => {
    const registered = registry.find(runtime_id);
    if (!registered || !registry.isUp(registered)) throw isDown();
  };

  const restarts = new Map<string, () => void>();
  feed.onWake("restarted", (restart_id) => restarts.get(restart_id)?.());
  const restarted = (restart_id: string) =>
    new Promise<void>((resolve) => {
      const cancel = systemTimer(pause, resolve, { hold: true });
      restarts.set(restart_id, () => {
        cancel();
        resolve();
      });
    });

  const server = (runtime_id: string): OtherServer => ({
    clear: (tx, leftovers) => queue.add(tx, kindAt("apps.clear", runtime_id), leftovers),

    async restart({ organization_id, project_id, environment }) {
      const restart_id = ids.next("job");
      const order = { organization_id, project_id, environment, restart_id };
      const kind = kindAt("apps.restart", runtime_id);
      await store.transaction({ organization_id }, (tx) => queue.addUnique(tx, kind, order, restart_id));
      try {
        while (await jobs.isWaiting(`job_${restart_id}`)) {
          requireUp(runtime_id);
          await restarted(restart_id);
        }
      } finally {
        restarts.delete(restart_id);
      }
    },
  });

  return {
    runtimeId: own?.id,
    runtimeName: () => runtime?.name ?? registry.names(),
    runtimes: registry.known,
    isHere,
    server,
    async elsewhere(key, tx) {
      const app = await rows(tx).find(key);
      return app && !isHere(app) ? server(app.runtime_id ?? "") : undefined;
    },
    appsUrl: (runtime_id) => registry.find(runtime_id)?.apps_url || ports.appsUrl(),
    async isLive(tx, key) {
      const app = await rows(tx).find(key);
      if (!app?.deployment_id) return supervisor?.liveIn(key) !== undefined;
      if (!isHere(app)) requireUp(app.runtime_id);
      return true;
    },

    assign: (tx, key) => registry.choose(tx, key, () => ports.ensure(tx, key)),
    isHeld: registry.isHeld,
    obstacle: follower.obstacle,
    onBack: follower.onBack,
    tellOthers,
    tellRestarted: (tx, restart_id) => feed.wake(tx, "restarted", restart_id),

    /** Refuses to start if another server has another runtime: each accepts only some kinds of sources. */
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
