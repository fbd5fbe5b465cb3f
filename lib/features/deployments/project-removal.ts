import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import { deploymentBatch, deploymentsRepository, logBatch } from "./repository.ts";

/** Removes the deployments of a deleted project, newest first, in batches; returns true once none are left. */
export function createProjectRemoval({ store }: { store: Store }) {
  const deployments = store.using(deploymentsRepository);
  return async (tx: Tx, project_id: string): Promise<boolean> => {
    if ((await deployments(tx).removeLogBatch({ project_id })) === logBatch) return false;
    return (await deployments(tx).removeBatch({ project_id })) < deploymentBatch;
  };
}
