import { setMaxListeners } from "node:events";
import type {
  App,
  CommandEnd,
  DeploymentDriver,
  DeploymentSource,
  DeploymentWork,
  Instance,
  Kept,
  LogLine,
  Progress,
  Runtime,
  Schedule,
} from "../../drivers/deployment/contract.ts";
import type { Protection } from "../../drivers/deployment/protections.ts";
import { AbortController } from "../../kernel/node/web.ts";
import type { BuildLimits } from "./build-limits.ts";
import type { DataFolders } from "./data-folders.ts";
import { Declined, Failure, Unhealthy } from "./failure.ts";
import type { CodeHost } from "./git-command.ts";
import { removeLeftovers, type Stored } from "./leftovers.ts";
import type { GitGroup } from "./limited-git.ts";
import type { ProjectCaches } from "./project-caches.ts";
import { createTask, type End, type Order, type Run, type Task } from "./task.ts";

export interface Release {
  readonly name: string;
  /** The commit or digest from which it can be built again; undefined if the order for a stored release names it. */
  readonly pin?: string;
  readonly workers: readonly { readonly name: string }[];
  readonly schedules: readonly Schedule[];
  /** Resolves once an instance is healthy. */
  start(app: App, run: Run): Promise<Instance>;
  /** Runs a command until it ends, or one of the signals aborts it. */
  command(
    app: App,
    schedule: Schedule,
    take: (line: LogLine) => void,
    signals: readonly AbortSignal[],
  ): Promise<CommandEnd>;
}

export interface RuntimeSettings {
  readonly codeHost: CodeHost;
  /** The control group of git, which the runtime `process` makes when it begins. */
  readonly gitGroup?: GitGroup;
  readonly limits: BuildLimits & { readonly timeout_ms: number };
  readonly buildVariables?: Readonly<Record<string, string>>;
  readonly appMemory_bytes: number;
  readonly healthTimeout_ms: number;
  readonly scratch_bytes: number;
  readonly dataFolder?: string;
}

/** One of the runtimes: how it builds releases and where it stores them. */
export interface RuntimeKind extends Pick<Runtime, "name" | "refuses" | "begin"> {
  detail(): string;
  protections?(): readonly Protection[];
  find(name: string): Promise<Release | undefined>;
  /** Builds a release, named after the deployment. Rejects with `Declined` if another runtime may take the source. */
  build(order: Order, run: Run): Promise<Release>;
  releases(): Stored;
  readonly caches: ProjectCaches;
  readonly data: DataFolders;
  /** Ends what it runs, after all builds have ended and all instances are drained. */
  close(): Promise<void>;
}

const grace_ms = 10_000;

/** A pushed commit is built even if its branch has moved. */
const orderOf = ({ outcome, step, elapsed_ms, handle, ...order }: DeploymentWork): Order => ({
  ...order,
  pin: order.pin ?? order.revision,
});

function failed(error: unknown): End {
  // Only reasons that the source or a limit caused are shown. Any other error is a fault for the service's log.
  if (!(error instanceof Failure)) throw error;
  const { message, cause } = error;
  const logs = [...(Array.isArray(cause) ? cause : []), { level: "error", message }];
  return { state: error instanceof Unhealthy ? "unhealthy" : "failed", message, logs };
}

/**
 * Runs the steps of deployments as background tasks, which the service polls. The first runtime that accepts a source
 * builds and runs it (fixtures/hosting/apps.md#deployments-that-really-run).
 */
export function createRuntimeDriver(kinds: readonly RuntimeKind[]) {
  /** The current task of each deployment: first its build, then its rollout. */
  const tasks = new Map<string, { readonly step: DeploymentWork["step"]; readonly task: Task }>();
  /** Instances that a rollout started and the supervisor has not taken over yet. */
  const started = new Map<string, Instance>();
  const closing = new AbortController();
  const { signal }: Pick<Run, "signal"> = closing;
  /** For work outside of deployments, which logs nothing. */
  const quietRun: Run = { log: () => {}, isFull: () => true, resolved: () => {}, signal };
  // Each restarted app keeps a listener while it runs.
  setMaxListeners(0, signal);

  const all = async (work: (kind: RuntimeKind) => Promise<unknown>) => void (await Promise.all(kinds.map(work)));
  const discard = (release: string) => all((kind) => kind.releases().remove(release));

  /** A failed lookup becomes a fault of the service: an unreachable engine is not a fault of the source. */
  const fault = (error: unknown) => Promise.reject(error instanceof Failure ? new Error(error.message) : error);
  const find = async (name: string | null): Promise<Release | undefined> => {
    if (name === null) return undefined;
    for (const kind of kinds) {
      const release = await kind.find(name).catch(fault);
      if (release) return release;
    }
    return undefined;
  };

  const make = async (order: Order, run: Run): Promise<Release> => {
    const accepting = kinds.filter((kind) => kind.refuses(order.source) === undefined);
    for (const [i, kind] of accepting.entries()) {
      try {
        return await kind.build(order, run);
      } catch (error) {
        const next = accepting[i + 1];
        if (!next || !(error instanceof Declined)) throw error;
        run.log({ level: "info", message: `The runtime ${next.name} is tried next: ${error.message}` });
        await kind.releases().remove(order.deployment_id);
      }
    }
    throw new Failure(`no runtime of this service runs a source of the type ${order.source.type}`);
  };

  /** The stored release, or the same built again from its pin. */
  const releaseOf = async (order: Order, name: string | null, run: Run) => (await find(name)) ?? make(order, run);

  const build = async (work: DeploymentWork, run: Run): Promise<End> => {
    const order = orderOf(work);
    if (work.version !== null && order.pin === null)
      throw new Failure(
        `version ${work.version} was deployed without a runtime, so its ${work.source.type === "image" ? "image" : "commit"} is unknown`,
      );
    const stored = await find(work.release);
    if (stored) run.log({ level: "info", message: "The release is still stored, so nothing is built" });
    const { name: release, pin = order.pin } = stored ?? (await make(order, run));
    return { state: "done", version: work.version ?? work.source.tag ?? pin, pin, release, logs: [] };
  };

  const rollout = async (work: DeploymentWork, run: Run): Promise<End> => {
    const order = orderOf(work);
    const release = await releaseOf(order, work.release, run);
    started.set(work.deployment_id, await release.start({ ...order, release: release.name }, run));
    const workers = release.workers.map(({ name }) => name);
    return { state: "done", version: work.version, workers, schedules: [...release.schedules], logs: [] };
  };

  const begin = (work: DeploymentWork): Task => {
    const run = work.step === "build" ? build : rollout;
    const task = createTask((given) => run(work, given).catch(failed));
    tasks.set(work.deployment_id, { step: work.step, task });
    return task;
  };

  const runtime = {
    name: kinds.map(({ name }) => name).join(","),

    refuses(source: DeploymentSource) {
      const rules = kinds.map((kind) => kind.refuses(source));
      return rules.includes(undefined) ? undefined : rules[0];
    },

    detail: () => kinds.map((kind) => kind.detail()).join("; "),

    protections: () => kinds.flatMap((kind) => kind.protections?.() ?? []),

    async begin(kept: Kept) {
      for (const kind of kinds) {
        await kind.begin(kept);
        await removeLeftovers(kind.releases(), kept.release, kept.warn);
        await removeLeftovers(kind.caches, kept.project, kept.warn);
        if (kept.environment) await kind.data.removeGone(kept.environment);
      }
    },

    async abandon(deployment_id: string) {
      await tasks.get(deployment_id)?.task.abort();
      tasks.delete(deployment_id);
      await started.get(deployment_id)?.stop(grace_ms);
      started.delete(deployment_id);
      await discard(deployment_id);
    },

    take(deployment_id: string) {
      const instance = started.get(deployment_id);
      started.delete(deployment_id);
      tasks.delete(deployment_id);
      return instance;
    },

    async start(app: App) {
      const release = await releaseOf(app, app.release, quietRun);
      return release.start({ ...app, release: release.name }, quietRun);
    },

    async command(app: App, schedule: Schedule, take: (line: LogLine) => void, ending: AbortSignal) {
      const release = await releaseOf(app, app.release, quietRun);
      return release.command({ ...app, release: release.name }, schedule, take, [ending, signal]);
    },

    async dataBytes(of: Parameters<DataFolders["bytes"]>[0]) {
      for (const { data } of kinds) {
        const bytes = await data.bytes(of);
        if (bytes !== undefined) return bytes;
      }
      return undefined;
    },

    retireData: (of: Parameters<DataFolders["retire"]>[0]) => all(({ data }) => data.retire(of)),

    discard,

    forget: (project_id: string, environment?: string) =>
      all(async ({ caches, data }) => {
        await caches.remove(project_id, environment);
        await data.remove(project_id, environment);
      }),

    async close(drained: Promise<unknown>) {
      closing.abort();
      await Promise.all([drained, ...[...tasks.values()].map(({ task }) => task.abort())]);
      await all((kind) => kind.close());
    },
  };

  return {
    delay: () => 0,

    async step(work: DeploymentWork): Promise<Progress> {
      // The deployment keeps its state, and the next process continues.
      const paused: Progress = { state: "running", again_ms: 1_000, handle: null, logs: [] };
      if (signal.aborted) return paused;
      const present = tasks.get(work.deployment_id);
      const task = present?.step === work.step ? present.task : begin(work);
      const answer = await task.progress().catch((error) => {
        // The next attempt starts over.
        tasks.delete(work.deployment_id);
        throw error;
      });
      return signal.aborted ? paused : answer;
    },

    runtime,
  } satisfies DeploymentDriver;
}
