import { checkProgress, type DeploymentDriver, type LogLine, type Progress } from "../drivers/deployment/contract.ts";
import type { Bus } from "../events/bus.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { Queue } from "../jobs/queue.ts";
import type { Clock } from "../kernel/clock.ts";
import { discard, done, type Outcome, snooze, snoozeUntil } from "../kernel/job.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { isStepped, storedOutcome } from "../scenarios/stored-outcome.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { appendLogs, withoutControlCharacters } from "./logs.ts";
import { deploymentsRepository } from "./repository.ts";
import type { Source } from "./source.ts";
import type { MoveName } from "./states.ts";

type Deployment = Row<"deployments">;
type EnvironmentKey = Pick<Deployment, "project_id" | "environment">;

interface Ports {
  readonly store: Store;
  readonly bus: Bus;
  readonly feed: ChangeFeed;
  readonly clock: Clock;
  readonly queue: Queue;
  readonly driver: DeploymentDriver;
  /** The variables of an environment, secrets included. */
  readonly variables: (of: { project_id: string; name: string }) => Promise<Readonly<Record<string, string>>>;
  /** Option `deployments.concurrency`: how many deployments of all organizations build or roll out at a time. */
  readonly concurrency: number;
  /** Option `deployments.autoRollback`. */
  readonly autoRollback: boolean;
}

export type Rollout = ReturnType<typeof createRollout>;

/**
 * Advances deployments one state at a time, from the stored row, so that a crash resumes where it was. Every step is a
 * move of the table of states: the loser of a race changes nothing.
 */
export function createRollout(ports: Ports) {
  const { store, bus, feed, clock, queue, driver, variables, concurrency, autoRollback } = ports;
  const deployments = store.using(deploymentsRepository);
  const appendLog = (tx: Tx, row: Deployment, lines: readonly LogLine[]) => {
    feed.publish(tx, { kind: "log", organization_id: row.organization_id, id: row.id });
    return appendLogs(deployments(tx), row, lines, clock);
  };

  /** Publishes that a deployment entered its state. */
  const publish = (tx: Tx, { organization_id, id, status, updated_at: at }: Deployment) =>
    feed.publish(tx, { kind: "deployment", organization_id, id, status, at });

  /** Makes a move of the table of states; undefined where the deployment is in no state that the move starts from. */
  const move = async (tx: Tx, name: MoveName, before: Deployment) => {
    const row = await deployments(tx).moves[name]({ ...before, at: clock.iso() });
    if (row) publish(tx, row);
    return row;
  };

  const eventData = ({ id, project_id, environment, version }: Deployment) => {
    return { deployment_id: id, project_id, environment, version };
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

  /** Whether a deployment that is queued now is the next one of its environment. */
  const isNext = async (tx: Tx, environment: EnvironmentKey) =>
    !(await deployments(tx).head(environment)) && !(await deployments(tx).runningIn(environment));

  const fail = async (tx: Tx, before: Deployment, reason: string, lines: readonly LogLine[]) => {
    const row = await move(tx, "fail", before);
    if (!row) return;
    await appendLog(tx, row, [...lines, { level: "error", message: "Deployment failed" }]);
    await bus.announce(tx, row.organization_id, "deployment.failed", {
      ...eventData(row),
      reason: withoutControlCharacters(reason),
    });
    await startNext(tx, row);
  };

  const finishBuild = async (tx: Tx, before: Deployment, version: string | null, lines: readonly LogLine[]) => {
    const row = await move(tx, "rollout", { ...before, version: before.version ?? version });
    if (!row) return;
    await appendLog(tx, row, lines);
    await scheduleAdvance(tx, row);
  };

  const succeed = async (tx: Tx, before: Deployment, lines: readonly LogLine[]) => {
    const row = await move(tx, "succeed", before);
    if (!row) return;
    await appendLog(tx, row, [...lines, { level: "info", message: "Deployment succeeded" }]);
    await bus.announce(tx, row.organization_id, "deployment.succeeded", eventData(row));
    await startNext(tx, row);
  };

  /** A failed health check: the previous release stays live where there is one. */
  const failHealthCheck = async (tx: Tx, before: Deployment, lines: readonly LogLine[]) => {
    const previous = autoRollback ? await deployments(tx).releaseBefore(before) : undefined;
    if (!previous) return fail(tx, before, "health_check", lines);
    const row = await move(tx, "restore", before);
    if (!row) return;
    await appendLog(tx, row, [
      ...lines,
      { level: "warn", message: `Rolled back: version ${previous.version} stays live` },
    ]);
    await bus.announce(tx, row.organization_id, "deployment.rolled_back", {
      ...eventData({ ...row, version: previous.version }),
      new_deployment_id: null,
      reason: "health_check",
    });
    await startNext(tx, row);
  };

  const outcomeOf = (row: Deployment, answer: Progress): Outcome => {
    switch (answer.state) {
      case "running":
        return snooze(
          answer.again_ms,
          async (tx) => {
            const now = await deployments(tx).find(row);
            if (now?.status === row.status) await appendLog(tx, now, answer.logs);
          },
          { deployment_id: row.id, handle: answer.handle },
        );
      case "failed":
        return done((tx) => fail(tx, row, answer.message, answer.logs));
      case "unhealthy":
        return done((tx) => failHealthCheck(tx, row, answer.logs));
      case "done":
        return done((tx) =>
          row.status === "building" ? finishBuild(tx, row, answer.version, answer.logs) : succeed(tx, row, answer.logs),
        );
    }
  };

  /** Asks the driver how far the present step is, and answers what becomes of the deployment. */
  const askDriver = async (row: Deployment, elapsed_ms: number, handle: string | null): Promise<Outcome> => {
    const isBuild = row.status === "building";
    const { project_id, environment: name, revision } = row;
    const answer = await driver.step({
      ...eventData(row),
      source: JSON.parse(row.source) as Source,
      variables: await variables({ project_id, name }),
      revision,
      outcome: storedOutcome(row),
      step: isBuild ? "build" : "rollout",
      elapsed_ms,
      handle,
    });
    return outcomeOf(row, checkProgress(answer, { needsVersion: isBuild && row.version === null }));
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

    /** Called at a start of the service: the limit may have risen, and nothing else would start the deployments that it held. */
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
      // No time passes for a stepped deployment: each step asks for the end of its state.
      const elapsed_ms = isStepped(row) ? Number.MAX_SAFE_INTEGER : clock.now() - Date.parse(row.step_at);
      return askDriver(row, elapsed_ms, handle);
    },

    /** The job has no retries left: the deployment fails, so that it does not stay where it is for ever. */
    async giveUp(tx: Tx, deployment_id: string, reason: string) {
      const row = await deployments(tx).byId({ id: deployment_id });
      if (row) await fail(tx, row, reason, [{ level: "error", message: `Given up: ${reason}` }]);
    },
  };
}
