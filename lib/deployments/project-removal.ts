import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { deploymentBatch, deploymentsRepository, logBatch } from "./repository.ts";

/**
 * Takes away what a project holds, newest first, as much of it as one transaction may take; tells whether that was the
 * last of it.
 */
export function createProjectRemoval({ store }: { store: Store }) {
  const deployments = store.using(deploymentsRepository);
  return async (tx: Tx, project_id: string): Promise<boolean> => {
    if ((await deployments(tx).removeLogBatch({ project_id })) === logBatch) return false;
    return (await deployments(tx).removeBatch({ project_id })) < deploymentBatch;
  };
}
