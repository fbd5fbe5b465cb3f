import { createAdmission } from "../../jobs/admission.ts";
import { type Outcome, snoozeUntil } from "../../kernel/job.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { isStepped } from "../scenarios/stored-outcome.ts";
import { deploymentsRepository } from "./repository.ts";

type Deployment = Row<"deployments">;
type OfOrganization = Pick<Deployment, "organization_id">;
type OfOrganizationOrAll = { readonly organization_id?: string | undefined };
type Named = Pick<Deployment, "project_id" | "environment">;
type EnvironmentKey = OfOrganization & Named;

/** The answer of `isNext` while another deployment is queued. */
const waits = Promise.resolve(false);

export interface QueuePorts extends Pick<Core, "store" | "clock" | "queue"> {
  /** Option `deployments.concurrency`: how many deployments of all organizations build or roll out at a time. */
  readonly concurrency: number;
  /** How many of these may belong to one organization. */
  readonly concurrencyLimit: (tx: Tx | undefined, organization_id: string) => Promise<number>;
  /** Whether nothing can start because no runtime is up. */
  readonly isHeld: (tx: Tx) => Promise<boolean>;
}

/** The deployment queue of each environment. `start` begins a build, or returns false if no runtime can take it. */
export function createEnvironmentQueues(
  { store, clock, queue, concurrency, concurrencyLimit, isHeld }: QueuePorts,
  start: (tx: Tx, waiting: Deployment) => Promise<boolean>,
) {
  const deployments = store.using(deploymentsRepository);

  /** On PostgreSQL, one job per organization: transactions of different ones would wait for the row of a shared job. */
  const scheduleStart = (tx: Tx, { organization_id }: OfOrganizationOrAll, wait_ms: number) =>
    store.engine.hasRowLocks && organization_id !== undefined
      ? queue.addUnique(tx, "deployments.turns", { organization_id }, `turns ${organization_id}`, wait_ms)
      : queue.addUnique(tx, "deployments.turns", {}, "turns", wait_ms);

  const admission = createAdmission({
    ...{ store, queue: "deployments", concurrency, concurrencyLimit, start },
    running: (tx) => deployments(tx).running({}),
    nextReady: (tx, after) => deployments(tx).nextReadyHead({ after }),
    startLater: (tx, head) => scheduleStart(tx, head, 0),
  });

  const startReady = async (tx: Tx, { organization_id }: OfOrganizationOrAll) => {
    await tx.lockLimit("deployments");
    await deployments(tx).markReady({ now: clock.iso() });
    await admission.startReady(tx, organization_id);
  };

  /** An environment runs one deployment at a time, first in, first out (schema/README.md#deployments). */
  const startNext = async (tx: Tx, environment: EnvironmentKey) => {
    await tx.lockLimit("deployments");
    const head = await deployments(tx).head(environment);
    if (head && !head.lined_up && !(await deployments(tx).runningIn(environment))) {
      await deployments(tx).markHead(head);
      if (!isStepped(head)) await scheduleStart(tx, head, Math.max(0, Date.parse(head.ready_at) - clock.now()));
    }
    await startReady(tx, environment);
  };

  /** The key of the answer of `isNext` in `Tx.shared`, until a deployment of the group leaves its state. */
  const nameOf = ({ project_id, environment }: Named) => `isNext ${project_id} ${environment}`;

  /** Whether a deployment queued now would be the next to start in its environment. */
  const isNext = async (tx: Tx, environment: Named): Promise<boolean> => {
    const { shared } = tx;
    const answer =
      shared?.get(nameOf(environment)) ??
      deployments(tx)
        .unfinished(environment)
        .then((found) => !found);
    shared?.set(nameOf(environment), answer);
    return (await answer) === true;
  };

  const nextStartOf = async (tx: Tx, of: OfOrganization) => {
    const head = await admission.next(tx);
    const later = await deployments(tx).nextReadyAtOf(of);
    if (head?.organization_id === of.organization_id && !(await isHeld(tx))) return clock.now();
    return later && Date.parse(later.ready_at);
  };

  return {
    isNext,
    /** Answers `isNext` for later transactions of the group, so that on PostgreSQL a POST waits for one query less. */
    wasQueued: ({ shared }: Tx, environment: EnvironmentKey) => void shared?.set(nameOf(environment), waits),
    /** Called after a deployment left its state. */
    hasMoved: ({ shared }: Tx) => shared?.clear(),
    startNext,
    startReady,
    scheduleStart,

    /** Called when the service starts: the limit may have risen, and nothing else would start waiting deployments. */
    resume: () =>
      store.transaction("rows", async (tx) => {
        await tx.lockLimit("deployments");
        await deployments(tx).markReady({ now: clock.iso() });
        const next = (await admission.next(tx)) ?? (await deployments(tx).nextReadyAt({}));
        if (next) await scheduleStart(tx, next, 0);
      }),

    /** The job `deployments.turns`: one for all organizations, or on PostgreSQL one for each. */
    async runStart(organization_id?: string): Promise<Outcome> {
      // On PostgreSQL, this only adds the job of the next organization with a ready head.
      if (organization_id === undefined)
        return snoozeUntil(async (tx) => {
          await startReady(tx, {});
          const next = await deployments(tx).nextReadyAt({});
          return next && Date.parse(next.ready_at);
        }, "rows");
      const of = { organization_id };
      await store.transaction(of, (tx) => startReady(tx, of));
      return snoozeUntil((tx) => nextStartOf(tx, of), "rows");
    },
  };
}
