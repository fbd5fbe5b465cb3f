import { Problem } from "../kernel/errors.ts";
import { done, type Outcome } from "../kernel/job.ts";
import { reasonOf } from "../kernel/log.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { AppLogs } from "./logs.ts";
import type { OtherServers } from "./other-servers.ts";
import { appsRepository } from "./repository.ts";
import type { AppKey, Supervisor } from "./supervisor.ts";

interface Ports {
  readonly store: Store;
  readonly logs: Pick<AppLogs, "append">;
  readonly supervisor: Supervisor | undefined;
  /** Undefined if one server does everything. */
  readonly others: OtherServers | undefined;
  /** The driver of deployments; undefined if they are simulated. */
  readonly runtimeName: () => string | undefined;
}

/** Restarts of live releases, here or on the server that runs them. */
export function createRestarts({ store, logs, supervisor, others, runtimeName }: Ports) {
  const rows = store.using(appsRepository);

  const restartHere = async (key: AppKey): Promise<void> => {
    await supervisor?.restart(key).catch((error) => {
      const message = `The restart failed: ${reasonOf(error)}; the app runs as before`;
      logs.append(key, [{ level: "error", message }]);
    });
  };

  return {
    /** Throws `no_previous_version` if no release is live, and `unavailable` while the server that runs it is down. */
    async requireLive(tx: Tx, key: AppKey): Promise<void> {
      if (others && (await rows(tx).find(key))?.deployment_id) return others.requireUp(key, tx);
      if (supervisor?.liveIn(key)) return;
      const message =
        runtimeName() === undefined
          ? "deployments are simulated here, so there is nothing to restart; choose a runtime with --runtime"
          : `nothing is live in ${key.environment}; deploy to it first`;
      throw new Problem("no_previous_version", message);
    },

    /** Starts the live release anew with today's variables. Resolves once the new instance serves, or has failed. */
    async restart(key: AppKey): Promise<void> {
      const elsewhere = await others?.runtimeOf(key);
      await (elsewhere === undefined ? restartHere(key) : others?.restart(key, elsewhere));
    },

    /** The job `apps.restart`, ordered by another server. */
    async runRestart({ restart_id, ...key }: AppKey & { readonly restart_id: string }): Promise<Outcome> {
      await restartHere(key);
      return done(async (tx) => others?.tellRestarted(tx, restart_id), key);
    },
  };
}
