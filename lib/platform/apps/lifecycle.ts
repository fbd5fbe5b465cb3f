import { type AppKey, keyOf } from "../../features/environments/live-apps.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { CrashRestart, Returning } from "./crash-restart.ts";
import type { createDataSizes } from "./data-sizes.ts";
import type { AppLogs } from "./logs.ts";
import type { Placement } from "./placement.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";
import type { Schedules } from "./schedules.ts";
import type { Access, Supervisor } from "./supervisor.ts";

interface Ports extends Pick<AppPorts, "log" | "store" | "runtime" | "areStopped" | "deployments" | "keep"> {
  readonly supervisor: Supervisor | undefined;
  readonly placement: Placement;
  readonly crashRestart: CrashRestart;
  readonly schedules: Pick<Schedules, "recover">;
  readonly sizes: ReturnType<typeof createDataSizes>;
  readonly logs: Pick<AppLogs, "end">;
  readonly ensure: (tx: Tx, key: AppKey) => Promise<void>;
  readonly accessOf: (key: AppKey, slug: string) => Promise<Access>;
}

/** Starts and stops this server's apps. */
export function createAppLifecycle(ports: Ports) {
  const { log, store, runtime, supervisor, placement, crashRestart, deployments, keep, ensure, schedules, sizes } =
    ports;
  const rows = store.using(appsRepository);

  const returning = async (live: readonly Row<"apps">[]): Promise<Returning[]> => {
    const releases: Returning[] = [];
    for (const { slug, deployment_id, ...key } of live)
      if (deployment_id !== null)
        releases.push([keyOf(key), { deployment_id, slug, ...(await ports.accessOf(key, slug)) }]);
    return releases;
  };
  const ownLive = async () => (await rows().live({})).filter(placement.isHere);

  return {
    /** Runs before the first job: checks that the runtime works here, and removes leftovers. */
    async begin(): Promise<void> {
      await placement.begin();
      if (!runtime) return;
      await crashRestart.begin();
      const live = ports.areStopped ? [] : await ownLive();
      await runtime.begin({
        async release(name) {
          const of = await deployments.ofRelease(name);
          if (!of) return false;
          if (of.isRunning) return true;
          const app = await rows().find(of);
          return !!app && placement.isHere(app) && (await deployments.releases(of)).slice(0, keep).includes(name);
        },
        environment: async (of) => (await rows().find(of)) !== undefined,
        project: async (project_id) => (await rows().ofProject({ project_id })).some(placement.isHere),
        mayFetch: deployments.mayFetch,
        warn: (message) => log.warn(message),
        async live(deployment_id) {
          const app = live.find((one) => one.deployment_id === deployment_id);
          return app && { since_ms: Date.parse((await rows().lastLog(app))?.timestamp ?? "1970-01-01T00:00:00Z") };
        },
      });
      // Environments that were made while deployments were simulated have no host yet.
      for (const organization_id of new Set((await rows().withoutApp({})).map((one) => one.organization_id)))
        await store.transaction({ organization_id }, async (tx) => {
          for (const key of await rows(tx).withoutApp({}))
            if (key.organization_id === organization_id) await ensure(tx, key);
        });
    },

    /**
     * Call when the apps' port is open and before any job runs: from now on, other servers may count on this one.
     * Registers the apps that stay stopped.
     */
    async open(): Promise<void> {
      await placement.open();
      if (supervisor && ports.areStopped)
        for (const [key, one] of await returning(await ownLive())) supervisor.leave(key, one);
    },

    async resume(): Promise<void> {
      if (!supervisor) return;
      const live = await ownLive();
      if (!ports.areStopped) crashRestart.startAll(await returning(live), supervisor);
      await schedules.recover(live);
      sizes.begin();
    },

    /** Stops builds at once, and apps after they have answered their requests. The next start restarts the apps. */
    async close(drained: Promise<unknown>): Promise<void> {
      // Apps stop even if the database hangs.
      const unregistered = placement.end();
      supervisor?.pause();
      sizes.end();
      await runtime?.close(drained);
      await ports.logs.end();
      if (runtime) await crashRestart.end();
      await unregistered;
    },
  };
}
