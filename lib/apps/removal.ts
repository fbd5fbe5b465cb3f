import type { StoredReleases } from "../deployments/stored-releases.ts";
import type { Runtime } from "../drivers/deployment/contract.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { logNameOf } from "./logs.ts";
import { appsRepository, batch } from "./repository.ts";
import type { AppKey, Supervisor } from "./supervisor.ts";

interface Ports {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly runtime: Runtime | undefined;
  readonly supervisor: Supervisor | undefined;
  readonly deployments: Pick<StoredReleases, "runningIn" | "releases">;
  /** Ends the deployment that builds or rolls out in it. */
  readonly onEnvironmentRemoved: (tx: Tx, key: AppKey) => Promise<void>;
  readonly afterCommit: (tx: Tx, what: string, run: () => Promise<unknown> | undefined) => void;
}

/** Takes away what runs of deleted environments and projects, and what is stored of it. */
export function createAppRemoval(ports: Ports) {
  const { store, feed, runtime, supervisor, deployments, onEnvironmentRemoved, afterCommit } = ports;
  const rows = store.using(appsRepository);
  return {
    /** An environment is deleted: what runs of it stops at once, and its releases go. */
    async removed(tx: Tx, key: AppKey): Promise<void> {
      await rows(tx).pruneLog({ ...key, before: Number.MAX_SAFE_INTEGER });
      await rows(tx).removeDomains(key);
      await rows(tx).remove(key);
      feed.publish(tx, { kind: "log", organization_id: key.organization_id, id: logNameOf(key) });
      if (!runtime) return;
      await onEnvironmentRemoved(tx, key);
      const releases = await deployments.releases(key, tx);
      afterCommit(tx, "removing what an environment runs and stores", async () => {
        await supervisor?.stop(key);
        for (const release of releases) await runtime.discard(release);
      });
    },

    /** A project is deleted: its work and its apps stop at once, and what they stored goes. Its rows go in batches. */
    async projectRemoved(tx: Tx, project_id: string): Promise<void> {
      if (!runtime) return;
      const keys = await rows(tx).ofProject({ project_id });
      const running = await Promise.all(keys.map((key) => deployments.runningIn(tx, key)));
      const releases = (await Promise.all(keys.map((key) => deployments.releases(key, tx)))).flat();
      afterCommit(tx, "removing what a project runs and stores", async () => {
        await Promise.all([
          ...keys.map((key) => supervisor?.stop(key)),
          ...running.map((id) => (id === undefined ? undefined : runtime.abandon(id))),
        ]);
        for (const release of releases) await runtime.discard(release);
        await runtime.forget(project_id);
      });
    },

    /** Removes a batch of a deleted project's rows; answers whether none are left. */
    async removeBatch(tx: Tx, project_id: string): Promise<boolean> {
      if ((await rows(tx).removeLogBatch({ project_id })) === batch) return false;
      await rows(tx).removeDomainsOfProject({ project_id });
      await rows(tx).removeOfProject({ project_id });
      return true;
    },
  };
}
