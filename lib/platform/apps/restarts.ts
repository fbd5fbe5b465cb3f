import type { AppKey } from "../../features/environments/live-apps.ts";
import { Problem } from "../../kernel/errors.ts";
import { done, type Outcome } from "../../kernel/job.ts";
import { reasonOf } from "../../kernel/log.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { AppLogs } from "./logs.ts";
import type { Placement } from "./placement.ts";
import type { Supervisor } from "./supervisor.ts";

interface Ports {
  readonly logs: Pick<AppLogs, "append">;
  readonly supervisor: Supervisor | undefined;
  readonly placement: Placement;
}

/** Restarts of live releases, here or on the server that runs them. */
export function createRestarts({ logs, supervisor, placement }: Ports) {
  const restartHere = async (key: AppKey): Promise<void> => {
    await supervisor?.restart(key).catch((error) => {
      const message = `The restart failed: ${reasonOf(error)}; the app runs as before`;
      logs.append(key, [{ level: "error", message }]);
    });
  };

  return {
    async requireLive(tx: Tx, key: AppKey): Promise<void> {
      if (await placement.isLive(tx, key)) return;
      const message =
        placement.runtimeName() === undefined
          ? "deployments are simulated here, so there is nothing to restart; choose a runtime with --runtime"
          : `nothing is live in ${key.environment}; deploy to it first`;
      throw new Problem("no_previous_version", message);
    },

    async restart(key: AppKey): Promise<void> {
      const elsewhere = await placement.elsewhere(key);
      await (elsewhere ? elsewhere.restart(key) : restartHere(key));
    },

    async runRestart({ restart_id, ...key }: AppKey & { readonly restart_id: string }): Promise<Outcome> {
      await restartHere(key);
      return done(async (tx) => placement.tellRestarted(tx, restart_id), key);
    },
  };
}
