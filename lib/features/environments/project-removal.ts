import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import { batch, environmentsRepository } from "./repository.ts";
import type { PreviewsOfEnvironments } from "./service.ts";

interface Ports {
  readonly store: Store;
  readonly previews: Pick<PreviewsOfEnvironments, "projectRemoved">;
}

/** Removes the environments of a deleted project in batches; returns true once none are left. */
export function createEnvironmentRemoval({ store, previews }: Ports) {
  const environments = store.using(environmentsRepository);
  return async (tx: Tx, project_id: string): Promise<boolean> => {
    await previews.projectRemoved(tx, project_id);
    return (await environments(tx).removeBatch({ project_id })) < batch;
  };
}
