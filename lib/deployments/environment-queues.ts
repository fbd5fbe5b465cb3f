import type { Queue } from "../jobs/queue.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Outcome, snoozeUntil } from "../kernel/job.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { isStepped } from "../scenarios/stored-outcome.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { deploymentsRepository } from "./repository.ts";

type Deployment = Row<"deployments">;
type OfOrganization = Pick<Deployment, "organization_id">;
type OfOrganizationOrAll = { readonly organization_id?: string | undefined };
type EnvironmentKey = Pick<Deployment, "organization_id" | "project_id" | "environment">;

export interface QueuePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly queue: Queue;
  /** Option `deployments.concurrency`: how many deployments of all organizations build or roll out at a time. */
  readonly concurrency: number;
  /** Whether nothing can start, because no runtime is up. Undefined where one server does everything. */
  readonly isHeld?: ((tx: Tx) => Promise<boolean>) | undefined;
}

/** The queues of the environments, and the limit over all of them; `start` begins a build, or says that none can begin. */
export function createEnvironmentQueues(
  { store, clock, queue, concurrency, isHeld }: QueuePorts,
  start: (tx: Tx, waiting: Deployment) => Promise<boolean>,
) {
  const deployments = store.using(deploymentsRepository);

  /**
   * The job that starts heads of queues. Where organizations write at the same time, each has one of its own: they would wait
   * for the row of a common one.
   */
  const scheduleStart = (tx: Tx, { organization_id }: OfOrganizationOrAll, wait_ms: number) =>
    store.engine.hasRowLocks && organization_id !== undefined
      ? queue.addUnique(tx, "deployments.turns", { organization_id }, `turns ${organization_id}`, wait_ms)
      : queue.addUnique(tx, "deployments.turns", {}, "turns", wait_ms);

  /** Starts the heads of queues that are ready, oldest first, up to the limit over all: those of other organizations later. */
  const startReady = async (tx: Tx, { organization_id }: OfOrganizationOrAll) => {
    if (tx.alone) await tx.alone("deployments");
    await deployments(tx).markReady({ now: clock.iso() });
    for (let free = concurrency - (await deployments(tx).countRunning({})); free > 0; free--) {
      const next = await deployments(tx).nextReadyHead({});
      if (!next) return;
      if (tx.alone && next.organization_id !== organization_id) return scheduleStart(tx, next, 0);
      if (!(await start(tx, next))) return;
    }
  };

  /** CONTRACT section 4: "First in, first out: one builds or rolls out at a time; others wait in `queued`". */
  const startNext = async (tx: Tx, environment: EnvironmentKey) => {
    if (tx.alone) await tx.alone("deployments");
    const head = await deployments(tx).head(environment);
    if (head && !head.lined_up && !(await deployments(tx).runningIn(environment))) {
      await deployments(tx).markHead(head);
      if (!isStepped(head)) await scheduleStart(tx, head, Math.max(0, Date.parse(head.ready_at) - clock.now()));
    }
    await startReady(tx, environment);
  };

  /** Whether a deployment queued now is the next of its environment. */
  const isNext = async (tx: Tx, environment: Omit<EnvironmentKey, "organization_id">) =>
    !(await deployments(tx).head(environment)) && !(await deployments(tx).runningIn(environment));

  /** When the job of an organization runs again. */
  const nextStartOf = async (tx: Tx, of: OfOrganization) => {
    const [first, later] = [await deployments(tx).nextReadyHead({}), await deployments(tx).nextReadyAtOf(of)];
    const isFirst = first?.organization_id === of.organization_id;
    if (isFirst && (await deployments(tx).countRunning({})) < concurrency && !(await isHeld?.(tx))) return clock.now();
    return later && Date.parse(later.ready_at);
  };

  return {
    isNext,
    startNext,
    startReady,
    scheduleStart,

    /** Called when the service starts: the limit may have risen, and nothing else would start the waiting deployments. */
    resume: () =>
      store.transaction(async (tx) => {
        await deployments(tx).markReady({ now: clock.iso() });
        const next = (await deployments(tx).nextReadyHead({})) ?? (await deployments(tx).nextReadyAt({}));
        if (next) await scheduleStart(tx, next, 0);
      }),

    /** The job `deployments.turns`: there is one, or one an organization. It runs when the next head of a queue becomes ready. */
    async runStart(organization_id?: string): Promise<Outcome> {
      if (organization_id === undefined)
        return snoozeUntil(async (tx) => {
          await startReady(tx, {});
          const next = await deployments(tx).nextReadyAt({});
          return next && Date.parse(next.ready_at);
        });
      const of = { organization_id };
      await store.transaction((tx) => startReady(tx, of), of);
      return snoozeUntil((tx) => nextStartOf(tx, of), { locksRowsOnly: true });
    },
  };
}
