import { checkProgress, type DeploymentDriver, type LogLine, type Progress } from "../drivers/deployment/contract.ts";
import type { Bus } from "../events/bus.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { Queue } from "../jobs/queue.ts";
import type { Clock } from "../kernel/clock.ts";
import { discard, done, type Outcome, snooze, snoozeUntil } from "../kernel/job.ts";
import { isTerminal } from "../kernel/state-machine.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { isStepped, storedOutcome } from "../scenarios/stored-outcome.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { appendLogs, withoutControlCharacters, withoutSecrets } from "./logs.ts";
import { deploymentsRepository } from "./repository.ts";
import { lifecycle, type MoveName } from "./states.ts";
import { orderOf, type ReadVariables } from "./stored-releases.ts";

type Deployment = Row<"deployments">;
type EnvironmentKey = Pick<Deployment, "project_id" | "environment">;

interface Ports {
  readonly store: Store;
  readonly bus: Bus;
  readonly feed: ChangeFeed;
  readonly clock: Clock;
  readonly queue: Queue;
  readonly driver: DeploymentDriver;
  readonly variables: ReadVariables;
  /** What runs after a deployment. */
  readonly apps: {
    /** Whether its environment was deleted, so that nothing of it may run. */
    isGone(deployment: Deployment, tx?: Tx): Promise<boolean>;
    succeeded(tx: Tx, deployment: Deployment): Promise<void>;
    ended(tx: Tx, deployment: Deployment): void;
  };
  /** Option `deployments.concurrency`: how many deployments of all organizations build or roll out at a time. */
  readonly concurrency: number;
  /** Option `deployments.autoRollback`. */
  readonly autoRollback: boolean;
}

const eventData = ({ id, project_id, environment, version }: Deployment) => {
  return { deployment_id: id, project_id, environment, version };
};

export type Rollout = ReturnType<typeof createRollout>;

/**
 * Advances deployments one state at a time, from the stored row, so that a crash resumes where it was. Every step is a
 * move of the table of states: the loser of a race changes nothing.
 */
export function createRollout(ports: Ports) {
  const { store, bus, feed, clock, queue, driver, variables, apps, concurrency, autoRollback } = ports;
  const deployments = store.using(deploymentsRepository);
  const appendLog = (tx: Tx, row: Deployment, lines: readonly LogLine[], last?: readonly LogLine[]) => {
    feed.publish(tx, { kind: "log", organization_id: row.organization_id, id: row.id });
    return appendLogs(deployments(tx), row, lines, clock, last);
  };

  /** Publishes that a deployment entered its state. */
  const publish = (tx: Tx, { organization_id, id, status, updated_at: at }: Deployment) =>
    feed.publish(tx, { kind: "deployment", organization_id, id, status, at });

  /** Makes a move of the table of states; undefined if the move does not start from the deployment's state. */
  const move = async (tx: Tx, name: MoveName, before: Deployment) => {
    const row = await deployments(tx).moves[name]({ ...before, at: clock.iso() });
    if (row) publish(tx, row);
    if (row && isTerminal(lifecycle, row.status) && row.status !== "active") apps.ended(tx, row);
    return row;
  };

  const scheduleAdvance = async (tx: Tx, row: Deployment) => {
    if (!isStepped(row)) await queue.add(tx, "deployments.advance", { deployment_id: row.id });
  };

  const start = async (tx: Tx, waiting: Deployment) => {
    const row = await move(tx, "build", waiting);
    if (!row) return;
    await appendLog(tx, row, [{ level: "info", message: "Build started" }]);
    await bus.announce(tx, row.organization_id, "deployment.started", eventData(row));
    await scheduleAdvance(tx, row);
  };

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

  const fail = async (tx: Tx, before: Deployment, reason: string, lines: readonly LogLine[]) => {
    const row = await move(tx, "fail", before);
    if (!row) return;
    await appendLog(tx, row, lines, [{ level: "error", message: "Deployment failed" }]);
    await bus.announce(tx, row.organization_id, "deployment.failed", {
      ...eventData(row),
      reason: withoutControlCharacters(reason),
    });
    await startNext(tx, row);
  };

  const finishBuild = async (tx: Tx, before: Deployment, made: Progress & { state: "done" }) => {
    const { version, pin = null, release = null, logs: lines } = made;
    const row = await move(tx, "rollout", { ...before, version: before.version ?? version, pin, release });
    if (!row) return;
    await appendLog(tx, row, lines);
    await scheduleAdvance(tx, row);
  };

  const succeed = async (tx: Tx, before: Deployment, lines: readonly LogLine[]) => {
    const row = await move(tx, "succeed", before);
    if (!row) return;
    await apps.succeeded(tx, row);
    await appendLog(tx, row, lines, [{ level: "info", message: "Deployment succeeded" }]);
    await bus.announce(tx, row.organization_id, "deployment.succeeded", eventData(row));
    await startNext(tx, row);
  };

  /** A failed health check: the previous release stays live where there is one. */
  const failHealthCheck = async (tx: Tx, before: Deployment, lines: readonly LogLine[]) => {
    const previous = autoRollback ? await deployments(tx).releaseBefore(before) : undefined;
    if (!previous) return fail(tx, before, "health_check", lines);
    const row = await move(tx, "restore", before);
    if (!row) return;
    const message = `Rolled back: version ${previous.version} stays live`;
    await appendLog(tx, row, lines, [{ level: "warn", message }]);
    await bus.announce(tx, row.organization_id, "deployment.rolled_back", {
      ...eventData({ ...row, version: previous.version }),
      new_deployment_id: null,
      reason: "health_check",
    });
    await startNext(tx, row);
  };

  /** Ends a step, whatever the driver made of it, where the environment was deleted meanwhile. */
  const finish = async (tx: Tx, row: Deployment, answer: Exclude<Progress, { state: "running" }>) => {
    if (await apps.isGone(row, tx)) {
      const message = `The environment ${row.environment} was deleted`;
      return fail(tx, row, message, [{ level: "error", message }]);
    }
    if (answer.state === "failed") return fail(tx, row, answer.message, answer.logs);
    if (answer.state === "unhealthy") return failHealthCheck(tx, row, answer.logs);
    return row.status === "building" ? finishBuild(tx, row, answer) : succeed(tx, row, answer.logs);
  };

  /** Asks the driver for the progress of the current step, and returns the outcome for the job. */
  const askDriver = async (row: Deployment, elapsed_ms: number, handle: string | null): Promise<Outcome> => {
    const isBuild = row.status === "building";
    const order = await orderOf(row, variables);
    const outcome = storedOutcome(row);
    const answer = await driver.step({
      ...order,
      outcome,
      step: isBuild ? "build" : "rollout",
      elapsed_ms,
      handle,
    });
    const checked = checkProgress(answer, { needsVersion: isBuild && row.version === null });
    const progress = withoutSecrets(checked, order.secrets);
    if (progress.state !== "running") return done((tx) => finish(tx, row, progress));
    const logLines = async (tx: Tx) => {
      const now = await deployments(tx).find(row);
      if (now?.status === row.status) await appendLog(tx, now, progress.logs);
    };
    return snooze(progress.again_ms, logLines, { deployment_id: row.id, handle: progress.handle });
  };

  return {
    appendLog,
    publish,
    move,
    eventData,
    isNext,
    startNext,
    startReady,
    scheduleStart,

    /** Ends the delay of a queued deployment: it starts as soon as it is the next and a slot is free. */
    async skipDelay(tx: Tx, row: Deployment) {
      await deployments(tx).skipDelay({ ...row, now: clock.iso() });
      await startNext(tx, row);
    },

    /** Called when the service starts: the limit may have risen, and nothing else would start the waiting deployments. */
    resume: () =>
      store.transaction(async (tx) => {
        await deployments(tx).markReady({ now: clock.iso() });
        if ((await deployments(tx).nextReadyHead({})) ?? (await deployments(tx).nextReadyAt({})))
          await scheduleStart(tx, 0);
      }),

    /** How many deployments of all organizations are in each state that is not terminal. */
    async unfinished(): Promise<{ queued: number; building: number; deploying: number }> {
      const queued = await deployments().countQueued({});
      const running = await deployments().running({});
      const building = running.filter(({ status }) => status === "building").length;
      return { queued, building, deploying: running.length - building };
    },

    /** The job `deployments.turns`: there is one, and it runs when the next head of a queue becomes ready. */
    runStart: async (): Promise<Outcome> =>
      snoozeUntil(async (tx) => {
        await startReady(tx);
        const next = await deployments(tx).nextReadyAt({});
        return next && Date.parse(next.ready_at);
      }),

    /** The job `deployments.advance`. */
    async advance(deployment_id: string, handle: string | null): Promise<Outcome> {
      const row = await deployments().byId({ id: deployment_id });
      if (!row) return discard("the deployment was removed");
      if (row.status !== "building" && row.status !== "deploying") return discard(`the deployment is ${row.status}`);
      if (await apps.isGone(row)) return done((tx) => finish(tx, row, { state: "failed", message: "", logs: [] }));
      // No time passes for a stepped deployment: each step asks for the end of its state.
      const elapsed_ms = isStepped(row) ? Number.MAX_SAFE_INTEGER : clock.now() - Date.parse(row.step_at);
      return askDriver(row, elapsed_ms, handle);
    },

    /** The job has no retries left: the deployment fails, or it would never end. */
    async giveUp(tx: Tx, deployment_id: string, reason: string) {
      const row = await deployments(tx).byId({ id: deployment_id });
      if (row) await fail(tx, row, reason, [{ level: "error", message: `Given up: ${reason}` }]);
    },
  };
}
