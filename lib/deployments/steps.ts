import type { Clock } from "../kernel/clock.ts";
import { invalid, notFound } from "../kernel/errors.ts";
import { isTerminal } from "../kernel/machine.ts";
import { isStepped } from "../scenarios/script.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { deploymentsRepository } from "./repository.ts";
import type { Rollout } from "./rollout.ts";
import { lifecycle } from "./states.ts";

type Deployment = Row<"deployments">;

export type Steps = ReturnType<typeof createSteps>;

/** How deployments move whose scenario lets no time move them. */
export function createSteps({ store, clock, rollout }: { store: Store; clock: Clock; rollout: Rollout }) {
  const deployments = store.using(deploymentsRepository);

  /** By one state; in the queue it keeps its turn, and at its end it stays. */
  const move = async (row: Deployment): Promise<Deployment> => {
    if (row.status === "queued") {
      await store.transaction(async (tx) => {
        await deployments(tx).hasten({ ...row, now: clock.iso() });
        await rollout.takeTurn(tx, row);
      });
    } else if (row.status === "building" || row.status === "deploying") {
      const outcome = await rollout.ask(row, Number.MAX_SAFE_INTEGER, null);
      if (outcome.kind === "done") await store.transaction(async (tx) => outcome.write?.(tx));
    }
    return (await deployments().forJob(row)) ?? row;
  };

  return {
    /** What somebody sees who looks at a deployment: looking moves one whose pace is `polls`. */
    polled: (row: Deployment) => (isStepped(row) === "polls" ? move(row) : row),

    /** A tester's step. */
    async step(id: string): Promise<Deployment> {
      const row = await deployments().forJob({ id });
      if (!row) throw notFound("deployment");
      if (!isStepped(row)) throw invalid("id", "must be of a deployment whose scenario has the pace manual or polls");
      if (isTerminal(lifecycle, row.status))
        throw invalid("id", `must be of a deployment that has not ended; this one is ${row.status}`);
      return move(row);
    },
  };
}
