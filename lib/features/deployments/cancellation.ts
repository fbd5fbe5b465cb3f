import { orNotFound, Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import { deploymentsRepository } from "./repository.ts";
import type { Rollout } from "./rollout.ts";

type Deployment = Row<"deployments">;
type EnvironmentKey = Pick<Deployment, "organization_id" | "project_id" | "environment">;

/** Ends deployments early: one, or all of an environment. */
export function createCancellation({ store, rollout }: { readonly store: Store; readonly rollout: Rollout }) {
  const deployments = store.using(deploymentsRepository);

  const cancel = async (tx: Tx, before: Deployment) => {
    const after = await rollout.move(tx, "cancel", before);
    if (after) await rollout.appendLog(tx, after, [], [{ level: "warn", message: "Cancelled" }]);
    return after;
  };

  return {
    async cancel(tx: Tx, { organization_id }: Caller, id: string): Promise<Deployment> {
      const before = await orNotFound(deployments(tx).find({ organization_id, id }), "deployment");
      const after = await cancel(tx, before);
      if (!after)
        throw new Problem(
          "not_cancellable",
          `only a queued or building deployment can be cancelled; this one is ${before.status}`,
        );
      await rollout.startNext(tx, after);
      return after;
    },

    /** When the newest deployment of an environment was created. */
    deployedAt: async (tx: Tx, key: EnvironmentKey) => (await deployments(tx).newest(key))?.created_at,

    /** Ends the queued and running deployments of an environment. A deployment that is rolling out fails. */
    async cancelAll(tx: Tx, key: EnvironmentKey): Promise<void> {
      // Cancels the queued ones first: otherwise, the end of a running one would start the next.
      for (let next = await deployments(tx).head(key); next; next = await deployments(tx).head(key)) {
        const row = await deployments(tx).find(next);
        if (!row || !(await cancel(tx, row))) return;
      }
      const running = await deployments(tx).runningIn(key);
      const row = running && (await deployments(tx).byId(running));
      if (row && !(await cancel(tx, row))) await rollout.environmentRemoved(tx, key);
      await rollout.startNext(tx, key);
    },
  };
}
