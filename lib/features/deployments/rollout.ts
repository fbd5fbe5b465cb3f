import {
  checkProgress,
  type DeploymentDriver,
  type LogLine,
  type Progress,
} from "../../drivers/deployment/contract.ts";
import { kindAt } from "../../jobs/runtime-jobs.ts";
import { discard, done, type Outcome, snooze } from "../../kernel/job.ts";
import { isTerminal } from "../../kernel/state-machine.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { LiveApps } from "../environments/live-apps.ts";
import { isStepped, storedOutcome } from "../scenarios/stored-outcome.ts";
import type { CommitStatuses } from "./commit-statuses.ts";
import { createEnvironmentQueues, type QueuePorts } from "./environment-queues.ts";
import { appendLogs, withoutControlCharacters, withoutSecrets } from "./logs.ts";
import { deploymentsRepository, liveNoMore } from "./repository.ts";
import { lifecycle, type MoveName } from "./states.ts";
import { orderOf, type ReadOrder, versionOf } from "./stored-releases.ts";

type Deployment = Row<"deployments">;
type EnvironmentKey = Pick<Deployment, "organization_id" | "project_id" | "environment">;

interface Ports extends Omit<QueuePorts, "isHeld">, ReadOrder, Pick<Core, "bus" | "feed"> {
  readonly driver: DeploymentDriver;
  readonly apps: Pick<LiveApps, "isGone" | "succeeded" | "ended" | "assign" | "isHeld" | "runtimeId">;
  /** Option `deployments.autoRollback`. */
  readonly autoRollback: boolean;
  readonly statuses: Pick<CommitStatuses, "changed">;
}

const eventData = ({ id, project_id, environment, version }: Deployment) => {
  return { deployment_id: id, project_id, environment, version };
};

export type Rollout = ReturnType<typeof createRollout>;

/** Advances deployments by one move at a time, from the stored row, so that they resume there after a crash. */
export function createRollout(ports: Ports) {
  const { store, bus, feed, clock, queue, driver, apps, autoRollback, statuses } = ports;
  const deployments = store.using(deploymentsRepository);
  const appendLog = (tx: Tx, row: Deployment, lines: readonly LogLine[], last?: readonly LogLine[]) => {
    feed.publish(tx, { kind: "log", organization_id: row.organization_id, id: row.id });
    return appendLogs(deployments(tx), row, lines, clock, last);
  };

  const publish = (tx: Tx, row: Deployment, before?: Deployment): Promise<void> | undefined => {
    const { organization_id, id, status, updated_at: at } = row;
    feed.publish(tx, { kind: "deployment", organization_id, id, status, at });
    return statuses.changed?.(tx, row, before);
  };

  /** Makes a move of the table of states; undefined if the move does not start from the deployment's state. */
  const move = async (tx: Tx, name: MoveName, before: Deployment, found: Partial<Deployment> = {}) => {
    const row = await deployments(tx).moves[name]({ ...before, ...found, at: clock.iso() });
    queues.hasMoved(tx);
    if (row) await publish(tx, row, before);
    if (row && isTerminal(lifecycle, row.status) && row.status !== "active") await apps.ended(tx, row);
    return row;
  };

  /** With several servers, only the runtime `runtime_id` continues the deployment. */
  const scheduleAdvance = async (tx: Tx, row: Deployment, runtime_id?: string) => {
    const order = { deployment_id: row.id, ...(runtime_id !== undefined && { runtime_id }) };
    if (!isStepped(row)) await queue.add(tx, kindAt("deployments.advance", runtime_id), order);
  };

  /** Begins a build. Returns false if it has to wait for a runtime. */
  const start = async (tx: Tx, waiting: Deployment): Promise<boolean> => {
    const runtime_id = await apps.assign(tx, waiting);
    if (runtime_id === undefined) return false;
    const row = await move(tx, "build", waiting);
    if (!row) return true;
    await appendLog(tx, row, [{ level: "info", message: "Build started" }]);
    await bus.announce(tx, row.organization_id, "deployment.started", eventData(row));
    await scheduleAdvance(tx, row, runtime_id ?? undefined);
    return true;
  };

  const queues = createEnvironmentQueues({ ...ports, isHeld: apps.isHeld }, start);
  const { startNext } = queues;

  const fail = async (tx: Tx, before: Deployment, reason: string, lines: readonly LogLine[]) => {
    const row = await move(tx, "fail", before, { version: versionOf(before) });
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
    const row = await move(tx, "rollout", before, { version: before.version ?? version, pin, release });
    if (!row) return;
    await appendLog(tx, row, lines);
    await scheduleAdvance(tx, row, apps.runtimeId);
  };

  const succeed = async (tx: Tx, before: Deployment, made: Progress & { state: "done" }) => {
    const row = await move(tx, "succeed", before);
    if (!row) return;
    await apps.succeeded(tx, row, made);
    await appendLog(tx, row, made.logs, [{ level: "info", message: "Deployment succeeded" }]);
    await bus.announce(tx, row.organization_id, "deployment.succeeded", eventData(row));
    await startNext(tx, row);
  };

  /** With `autoRollback`, a failed health check rolls back to the previous release, if that is live. */
  const failHealthCheck = async (tx: Tx, before: Deployment, lines: readonly LogLine[]) => {
    const previous = autoRollback ? await deployments(tx).releaseBefore(before) : undefined;
    if (!previous || previous.lined_up === liveNoMore) return fail(tx, before, "health_check", lines);
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

  const failWithoutEnvironment = (tx: Tx, row: Deployment) => {
    const message = `The environment ${row.environment} was deleted`;
    return fail(tx, row, message, [{ level: "error", message }]);
  };

  /**
   * Reads the deployment again after a driver step; undefined if it has left that state. If it has ended, this also
   * ends the driver's work, which may have begun after that end.
   */
  const present = async (tx: Tx, asked: Deployment) => {
    const now = await deployments(tx).find(asked);
    if (now?.status === asked.status) return now;
    if (!now || (isTerminal(lifecycle, now.status) && now.status !== "active")) await apps.ended(tx, asked, !now);
    return undefined;
  };

  /** Ends a step with the driver's answer, or with a failure if the environment was deleted during the step. */
  const finish = async (tx: Tx, asked: Deployment, answer: Exclude<Progress, { state: "running" }>) => {
    const row = await present(tx, asked);
    if (!row) return;
    if (await apps.isGone(row, tx)) return failWithoutEnvironment(tx, row);
    if (answer.state === "failed")
      return fail(tx, { ...row, pin: row.pin ?? answer.commit ?? null }, answer.message, answer.logs);
    if (answer.state === "unhealthy") return failHealthCheck(tx, row, answer.logs);
    return row.status === "building" ? finishBuild(tx, row, answer) : succeed(tx, row, answer);
  };

  const askDriver = async (row: Deployment, elapsed_ms: number, handle: string | null, more = {}): Promise<Outcome> => {
    const isBuild = row.status === "building";
    const order = await orderOf(row, ports);
    const step = isBuild ? "build" : "rollout";
    const answer = await driver.step({ ...order, outcome: storedOutcome(row), step, elapsed_ms, handle });
    const checked = checkProgress(answer, { needsVersion: isBuild && row.version === null });
    const progress = withoutSecrets(checked, order.secrets);
    if (progress.state !== "running") return done((tx) => finish(tx, row, progress), row);
    const logLines = async (tx: Tx) => {
      const now = await present(tx, row);
      if (now?.pin === null && progress.commit !== undefined) {
        const pinned = { ...now, pin: progress.commit };
        await deployments(tx).setPin(pinned);
        await statuses.changed?.(tx, pinned, now);
      }
      if (now) await appendLog(tx, now, progress.logs);
    };
    return snooze(progress.again_ms, logLines, row, { deployment_id: row.id, handle: progress.handle, ...more });
  };

  return {
    appendLog,
    publish,
    move,
    eventData,
    ...queues,

    /** Call when an environment was deleted: its records stay, but none of them is live. */
    endLive: (tx: Tx, environment: EnvironmentKey) => deployments(tx).endLive(environment),

    /** Fails the running deployment of a deleted environment. A new environment of that name must not get it. */
    async environmentRemoved(tx: Tx, environment: EnvironmentKey) {
      const running = await deployments(tx).runningIn(environment);
      const row = running && (await deployments(tx).byId(running));
      if (row) await failWithoutEnvironment(tx, row);
    },

    /** Ends the delay of a queued deployment: it starts once it is next in its queue and a slot is free. */
    async skipDelay(tx: Tx, row: Deployment) {
      await deployments(tx).skipDelay({ ...row, now: clock.iso() });
      await startNext(tx, row);
    },

    /** Counts the deployments in each non-terminal state, of all organizations or of one. */
    async unfinished(organization_id?: string): Promise<{ queued: number; building: number; deploying: number }> {
      if (organization_id !== undefined) {
        const count = (status: Deployment["status"]) => deployments().list.total({ organization_id, status });
        const [queued, building] = [await count("queued"), await count("building")];
        return { queued, building, deploying: await count("deploying") };
      }
      const queued = await deployments().countQueued({});
      const running = await deployments().running({});
      const building = running.filter(({ status }) => status === "building").length;
      return { queued, building, deploying: running.length - building };
    },

    /** The job `deployments.advance`; with several servers, for one runtime. */
    async advance(deployment_id: string, handle: string | null, runtime_id?: string): Promise<Outcome> {
      const row = await deployments().byId({ id: deployment_id });
      if (!row) return discard("the deployment was removed");
      if (row.status !== "building" && row.status !== "deploying") return discard(`the deployment is ${row.status}`);
      const ownRuntime = apps.runtimeId;
      // The job has no runtime yet, or its runtime does not come back.
      if (ownRuntime !== undefined && runtime_id !== ownRuntime)
        return done(async (tx) => scheduleAdvance(tx, row, (await apps.assign(tx, row)) ?? ownRuntime), row);
      if (await apps.isGone(row)) return done((tx) => finish(tx, row, { state: "failed", message: "", logs: [] }), row);
      // For a stepped deployment no time passes: each call ends its state.
      const elapsed_ms = isStepped(row) ? Number.MAX_SAFE_INTEGER : clock.now() - Date.parse(row.step_at);
      return askDriver(row, elapsed_ms, handle, ownRuntime === undefined ? {} : { runtime_id: ownRuntime });
    },

    /** Fails a deployment whose job has no retries left: otherwise it would never end. */
    async giveUp(tx: Tx, deployment_id: string, reason: string) {
      const row = await deployments(tx).byId({ id: deployment_id });
      if (row) await fail(tx, row, reason, [{ level: "error", message: `Given up: ${reason}` }]);
    },
  };
}
