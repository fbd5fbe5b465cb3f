import { type AppKey, keyOf, type Leftovers, nameOf } from "../../features/environments/live-apps.ts";
import { done, type Outcome } from "../../kernel/job.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Placement } from "./placement.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository, batch } from "./repository.ts";
import type { Schedules } from "./schedules.ts";
import type { Supervisor } from "./supervisor.ts";

interface Ports extends Pick<AppPorts, "store" | "custom" | "feed" | "runtime" | "deployments"> {
  readonly supervisor: Supervisor | undefined;
  readonly schedules: Pick<Schedules, "stop" | "removed" | "projectRemoved">;
  readonly placement: Placement;
  readonly afterCommit: (tx: Tx, what: string, run: () => Promise<unknown> | undefined) => void;
}

/** Removes the apps of deleted environments and projects, and their files. */
export function createAppRemoval(ports: Ports) {
  const { store, custom, feed, runtime, supervisor, schedules, placement, deployments, afterCommit } = ports;
  const rows = store.using(appsRepository);

  const clear = async ({ keys, running, releases, project_id }: Leftovers): Promise<void> => {
    await Promise.all([
      // First, because a new environment of the same name may start before the old apps have ended.
      ...(project_id === null ? keys : []).map((key) => runtime?.retireData?.(key)),
      ...keys.map((key) => schedules.stop(key)),
      ...keys.map((key) => supervisor?.stop(key)),
      ...running.map((deployment_id) => runtime?.abandon(deployment_id)),
    ]);
    for (const release of releases) await runtime?.discard(release);
    if (project_id !== null) await runtime?.forget(project_id);
    else for (const key of keys) await runtime?.forget(key.project_id, key.environment);
  };

  const leftoversOf = async (tx: Tx, keys: readonly AppKey[], project_id: string | null): Promise<Leftovers> => {
    const running = await Promise.all(keys.map((key) => deployments.runningIn(tx, key)));
    const releases = await Promise.all(keys.map((key) => deployments.releases(key, tx)));
    return { keys, running: running.flatMap((id) => id ?? []), releases: releases.flat(), project_id };
  };

  return {
    async runClear(leftovers: Leftovers): Promise<Outcome> {
      await clear(leftovers);
      return done();
    },

    /** Cleans up after a deployment that ended without becoming active. */
    async ended(tx: Tx, { id, ...key }: AppKey & { readonly id: string }, isProjectGone = false): Promise<void> {
      const leftovers = { keys: [], running: [id], releases: [], project_id: isProjectGone ? key.project_id : null };
      const elsewhere = await placement.elsewhere(key, tx);
      if (elsewhere) await elsewhere.clear(tx, leftovers);
      else if (runtime) afterCommit(tx, "ending a deployment's work", () => clear(leftovers));
    },

    /**
     * Stops the apps of a deleted environment, and removes its releases. Returns whether its deployment must end too.
     */
    async removed(tx: Tx, key: AppKey): Promise<boolean> {
      const elsewhere = await placement.elsewhere(key, tx);
      const leftovers = elsewhere && (await leftoversOf(tx, [key], null));
      await rows(tx).pruneLog({ ...key, before: Number.MAX_SAFE_INTEGER });
      await custom.removed(tx, key);
      await schedules.removed(tx, key);
      await rows(tx).remove(key);
      feed.publish(tx, { kind: "log", organization_id: key.organization_id, id: nameOf(key) });
      if (leftovers) await elsewhere.clear(tx, leftovers);
      if (leftovers || !runtime) return leftovers !== undefined;
      const releases = await deployments.releases(key, tx);
      const here = { keys: [key], running: [], releases, project_id: null };
      afterCommit(tx, "removing what an environment runs and stores", () => clear(here));
      return true;
    },

    /** Stops the work and the apps of a deleted project, and removes their files. A job removes its rows in batches. */
    async projectRemoved(tx: Tx, project_id: string): Promise<void> {
      const all = await rows(tx).ofProject({ project_id });
      const elsewhere = new Set(all.flatMap((one) => (placement.isHere(one) ? [] : (one.runtime_id ?? []))));
      for (const runtime_id of elsewhere) {
        const keys = all.filter((one) => one.runtime_id === runtime_id).map(keyOf);
        await placement.server(runtime_id).clear(tx, await leftoversOf(tx, keys, project_id));
      }
      if (!runtime) return;
      const leftovers = await leftoversOf(tx, all.filter(placement.isHere).map(keyOf), project_id);
      afterCommit(tx, "removing what a project runs and stores", () => clear(leftovers));
    },

    async removeBatch(tx: Tx, project_id: string): Promise<boolean> {
      if ((await rows(tx).removeLogBatch({ project_id })) === batch) return false;
      await custom.projectRemoved(tx, project_id);
      await schedules.projectRemoved(tx, project_id);
      await rows(tx).removeOfProject({ project_id });
      return true;
    },
  };
}
