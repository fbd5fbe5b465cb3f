import type { Queue } from "../jobs/queue.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Outcome, snoozeUntil } from "../kernel/job.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { isStepped } from "../scenarios/stored-outcome.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { deploymentsRepository } from "./repository.ts";

type Deployment = Row<"deployments">;
type EnvironmentKey = Pick<Deployment, "project_id" | "environment">;

export interface QueuePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly queue: Queue;
  /** Option `deployments.concurrency`: how many deployments of all organizations build or roll out at a time. */
  readonly concurrency: number;
}

/** The queues of the environments, and the limit over all of them; `start` begins a build. */
export function createEnvironmentQueues(
  { store, clock, queue, concurrency }: QueuePorts,
  start: (tx: Tx, waiting: Deployment) => Promise<void>,
) {
  const deployments = store.using(deploymentsRepository);

  const scheduleStart = (tx: Tx, wait_ms: number) => queue.addUnique(tx, "deployments.turns", {}, "turns", wait_ms);

  /** Starts the heads of queues that are ready, oldest first, up to the limit over all. */
  const startReady = async (tx: Tx) => {
    await deployments(tx).markReady({ now: clock.iso() });
    for (let free = concurrency - (await deployments(tx).countRunning({})); free > 0; free--) {
      const next = await deployments(tx).nextReadyHead({});
      if (!next) return;
      await start(tx, next);
    }
  };

  /** CONTRACT section 4: "First in, first out: one builds or rolls out at a time; others wait in `queued`". */
  const startNext = async (tx: Tx, environment: EnvironmentKey) => {
    const head = await deployments(tx).head(environment);
    if (head && !head.lined_up && !(await deployments(tx).runningIn(environment))) {
      await deployments(tx).markHead(head);
      if (!isStepped(head)) await scheduleStart(tx, Math.max(0, Date.parse(head.ready_at) - clock.now()));
    }
    await startReady(tx);
  };

  /** Whether a deployment queued now is the next of its environment. */
  const isNext = async (tx: Tx, environment: EnvironmentKey) =>
    !(await deployments(tx).head(environment)) && !(await deployments(tx).runningIn(environment));

  return {
    isNext,
    startNext,
    startReady,
    scheduleStart,

    /** Called when the service starts: the limit may have risen, and nothing else would start the waiting deployments. */
    resume: () =>
      store.transaction(async (tx) => {
        await deployments(tx).markReady({ now: clock.iso() });
        if ((await deployments(tx).nextReadyHead({})) ?? (await deployments(tx).nextReadyAt({})))
          await scheduleStart(tx, 0);
      }),

    /** The job `deployments.turns`: there is one, and it runs when the next head of a queue becomes ready. */
    runStart: async (): Promise<Outcome> =>
      snoozeUntil(async (tx) => {
        await startReady(tx);
        const next = await deployments(tx).nextReadyAt({});
        return next && Date.parse(next.ready_at);
      }),
  };
}
