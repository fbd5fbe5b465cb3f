import { setMaxListeners } from "node:events";
import type { App, DeploymentWork, Instance, LogLine, Progress, Schedule } from "../../drivers/deployment/contract.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { Declined, Failure, Unhealthy } from "./failure.ts";
import { createTask, type Task } from "./task.ts";

export interface Run {
  readonly log: (line: LogLine) => void;
  /** Whether the log is full. */
  readonly isFull: () => boolean;
  readonly signal: AbortSignal;
  /** Tells the commit of the source. */
  readonly resolved?: (commit: string) => void;
}
export type Order = Omit<App, "release">;

interface Release {
  readonly name: string;
  readonly pin: string | null;
  /** Whether it was built just now. */
  readonly isNew: boolean;
  readonly workers?: readonly { readonly name: string }[];
  readonly schedules?: readonly Schedule[];
}

interface Work<R extends Release> {
  readonly pinned: "commit" | "image";
  /** The wanted release if it is still stored; otherwise it is rebuilt from its pin. */
  releaseOf(order: Order, wanted: string | null, run: Run): Promise<R>;
  /** Warnings about parts of an order that have no effect. */
  warnings?(order: Order): readonly string[];
  /** Resolves once the release is healthy. */
  start(app: App, release: R, run: Run): Promise<Instance>;
  discard(release: string): Promise<void>;
}

const grace_ms = 10_000;

/** A pushed commit is built even if its branch has moved. */
const orderOf = ({ outcome, step, elapsed_ms, handle, ...order }: DeploymentWork): Order => ({
  ...order,
  pin: order.pin ?? order.revision,
});

function failed(error: unknown): Progress & { state: "failed" | "unhealthy" } {
  // Only reasons that the source or a limit caused are shown. Any other error is a fault for the service's log.
  if (!(error instanceof Failure)) throw error;
  const { message, cause } = error;
  const last = Array.isArray(cause) ? cause : [];
  const logs = [...last, { level: "error", message }];
  if (error instanceof Unhealthy) return { state: "unhealthy", message, logs };
  return { state: "failed", message, logs, ...(error instanceof Declined && { isDeclined: true as const }) };
}

/** Runs the steps of deployments as background tasks, which the service polls. */
export function createBackgroundSteps<R extends Release>({ pinned, releaseOf, warnings, start, discard }: Work<R>) {
  /** The current task of each deployment: first its build, then its rollout. */
  const tasks = new Map<string, { readonly step: DeploymentWork["step"]; readonly task: Task }>();
  /** Instances that a rollout started and the supervisor has not taken over yet. */
  const started = new Map<string, Instance>();
  const closing = new AbortController();
  const { signal }: Pick<Run, "signal"> = closing;
  /** Of work outside of deployments, nothing is logged. */
  const quietRun: Run = { log: () => {}, isFull: () => true, signal };
  // Each restarted app keeps a listener while it runs.
  setMaxListeners(0, closing.signal);

  const build = async (work: DeploymentWork, run: Run): Promise<Progress> => {
    const order = orderOf(work);
    if (work.version !== null && order.pin === null)
      throw new Failure(`version ${work.version} was deployed without a runtime, so its ${pinned} is unknown`);
    const { name, pin, isNew } = await releaseOf(order, work.release, run);
    if (!isNew) run.log({ level: "info", message: "The release is still stored, so nothing is built" });
    for (const message of warnings?.(order) ?? []) run.log({ level: "warn", message });
    return { state: "done", version: work.version ?? work.source.tag ?? pin, pin, release: name, logs: [] };
  };

  const rollout = async (work: DeploymentWork, run: Run): Promise<Progress> => {
    const order = orderOf(work);
    const release = await releaseOf(order, work.release, run);
    started.set(work.deployment_id, await start({ ...order, release: release.name }, release, run));
    const { workers = [], schedules = [] } = release;
    const beside = { workers: workers.map(({ name }) => name), schedules: [...schedules] };
    return { state: "done", version: work.version, ...beside, logs: [] };
  };

  const begin = (work: DeploymentWork): Task => {
    const run = work.step === "build" ? build : rollout;
    const task = createTask(async (given) => {
      try {
        const answer = await run(work, { ...given, isFull: () => task.isFull() });
        return answer as Exclude<Progress, { state: "running" }>;
      } catch (error) {
        return failed(error);
      }
    });
    tasks.set(work.deployment_id, { step: work.step, task });
    return task;
  };

  return {
    async step(work: DeploymentWork): Promise<Progress> {
      // The deployment keeps its state, and the next process continues.
      const paused: Progress = { state: "running", again_ms: 1_000, handle: null, logs: [] };
      if (closing.signal.aborted) return paused;
      const present = tasks.get(work.deployment_id);
      const task = present?.step === work.step ? present.task : begin(work);
      const answer = await task.progress().catch((error) => {
        // The next attempt starts over.
        tasks.delete(work.deployment_id);
        throw error;
      });
      return closing.signal.aborted ? paused : answer;
    },

    async abandon(deployment_id: string): Promise<void> {
      const { task } = tasks.get(deployment_id) ?? {};
      await task?.abort();
      tasks.delete(deployment_id);
      await started.get(deployment_id)?.stop(grace_ms);
      started.delete(deployment_id);
      await discard(deployment_id);
    },

    take(deployment_id: string): Instance | undefined {
      const instance = started.get(deployment_id);
      started.delete(deployment_id);
      tasks.delete(deployment_id);
      return instance;
    },

    async start(app: App): Promise<Instance> {
      const release = await releaseOf(app, app.release, quietRun);
      return start({ ...app, release: release.name }, release, quietRun);
    },

    /** The stored release for a command; rebuilt if it is no longer stored. */
    release: (app: App) => releaseOf(app, app.release, quietRun),
    signal,

    /** Aborts all tasks at once. Resolves when the instances are `drained` too. */
    async close(drained: Promise<unknown>): Promise<void> {
      closing.abort();
      await Promise.all([drained, ...[...tasks.values()].map(({ task }) => task.abort())]);
    },
  };
}
