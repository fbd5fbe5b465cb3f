import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { AbortController } from "../../kernel/web.ts";
import type { App, DeploymentWork, Instance, Progress } from "../deployment/contract.ts";
import type { RuntimeDriver } from "../deployment/runtime-list.ts";
import { type BuildPorts, build } from "./build.ts";
import { Declined, Failure, Unhealthy } from "./failure.ts";
import { createGit } from "./git.ts";
import type { CodeHost } from "./git-command.ts";
import { createInstances, type InstanceSettings, type Instances } from "./instances.ts";
import { probeSandbox } from "./probe.ts";
import { killProcessesIn } from "./process-table.ts";
import { createReleases } from "./releases.ts";
import type { Sandbox } from "./sandbox.ts";
import { createTask, type Task } from "./task.ts";

export interface ProcessSettings extends InstanceSettings {
  readonly codeHost: CodeHost;
  readonly isolation: Sandbox["name"];
  readonly limits: BuildPorts["limits"];
  /** Whether another runtime takes a repository that has a `Dockerfile`, and nothing that says how it runs as a process. */
  readonly leavesDockerfiles?: boolean;
}

const grace_ms = 10_000;
/** While the server stops, everything together has ten seconds. */
const closingGrace_ms = 4_000;

type Run = Parameters<typeof build>[1];
type Order = Omit<App, "release">;

/** A commit that was pushed is built, wherever its branch is by now. */
const orderOf = ({
  outcome,
  step,
  elapsed_ms,
  handle,
  ...order
}: DeploymentWork): Order & { readonly release: string | null } => ({
  ...order,
  pin: order.pin ?? order.revision,
});

/** Runs git sources as processes of this machine. Everything that it stores lies in `folder`. */
export function createProcessDriver(
  folder: string,
  { codeHost, isolation, limits, leavesDockerfiles = false, ...settings }: ProcessSettings,
): RuntimeDriver {
  const releases = createReleases(join(folder, "releases"));
  /** The work for each deployment: its build, then its rollout. */
  const tasks = new Map<string, { readonly step: DeploymentWork["step"]; readonly task: Task }>();
  /** Instances that a rollout started, until they are taken. */
  const started = new Map<string, Instance>();
  const closing = new AbortController();
  let begun: { readonly build: BuildPorts; readonly instances: Instances } | undefined;

  const ports = () => {
    if (!begun) throw new Error("the runtime has not begun");
    return begun;
  };

  /** The release that was asked for, if it is still stored; otherwise it is built again, from its commit. */
  const releaseOf = async (order: Order, wanted: string | null, run: Run) => {
    const stored = wanted === null ? undefined : await releases.find(wanted);
    if (stored && wanted !== null) return { name: wanted, stored, isNew: false };
    const { release } = await build(order, run, ports().build);
    return { name: order.deployment_id, stored: release, isNew: true };
  };

  const runBuild = async (work: DeploymentWork, run: Run): Promise<Progress> => {
    if (work.version !== null && orderOf(work).pin === null)
      throw new Failure(`version ${work.version} was deployed without a runtime, so nobody knows its commit`);
    const { name, stored, isNew } = await releaseOf(orderOf(work), work.release, run);
    if (!isNew) run.log({ level: "info", message: "The release is still stored, so nothing is built" });
    if ("PORT" in work.variables)
      run.log({ level: "warn", message: "The variable PORT is ignored: each release gets a port of its own" });
    const version = work.version ?? work.source.tag ?? stored.commit;
    return { state: "done", version, pin: stored.commit, release: name, logs: [] };
  };

  const runRollout = async (work: DeploymentWork, run: Run): Promise<Progress> => {
    const { name, stored } = await releaseOf(orderOf(work), work.release, run);
    run.log({ level: "info", message: stored.start === null ? "Serving static files" : `Starting: ${stored.start}` });
    const instance = await ports().instances.start({ ...orderOf(work), release: name }, stored, run.signal);
    started.set(work.deployment_id, instance);
    run.log({ level: "info", message: "The health check passed" });
    return { state: "done", version: work.version, logs: [] };
  };

  const failed = (error: unknown): Progress & { state: "failed" | "unhealthy" } => {
    const { message, cause } = error as Error;
    // Only a reason that the source or a limit caused is shown; anything else is a fault, and goes to the service's log.
    if (!(error instanceof Failure)) throw error;
    const last = Array.isArray(cause) ? cause : [];
    const logs = [...last, { level: "error", message }];
    if (error instanceof Unhealthy) return { state: "unhealthy", message, logs };
    return { state: "failed", message, logs, ...(error instanceof Declined && { isDeclined: true as const }) };
  };

  const begin = (work: DeploymentWork): Task => {
    const run = work.step === "build" ? runBuild : runRollout;
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

  const discard = (release: string) => releases.remove(release);

  /** For each project its caches: fetched commits, and the packages of its builds. */
  const caches = join(folder, "cache");
  const forget = (project_id: string) => rm(join(caches, project_id), { recursive: true, force: true, maxRetries: 3 });

  return {
    delay: () => 0,

    async step(work) {
      // The state of a deployment stays as it is, and the next process continues.
      const paused: Progress = { state: "running", again_ms: 1_000, handle: null, logs: [] };
      if (closing.signal.aborted) return paused;
      const present = tasks.get(work.deployment_id);
      const task = present?.step === work.step ? present.task : begin(work);
      const answer = await task.progress().catch((error) => {
        // The next attempt begins anew.
        tasks.delete(work.deployment_id);
        throw error;
      });
      return closing.signal.aborted ? paused : answer;
    },

    runtime: {
      name: "process",

      refuses: ({ type }) =>
        type === "git" ? undefined : "must be git: this service runs no images (option deployments.runtime)",

      detail: () => `process, with the isolation ${isolation}`,

      stores: async (release) => (await releases.find(release)) !== undefined,

      async begin({ release: keepsRelease, project: keepsProject }) {
        killProcessesIn(folder);
        const sandbox = await probeSandbox(folder, isolation);
        const git = createGit(join(folder, "git"), caches, codeHost);
        begun = {
          build: { git, releases, sandbox, folder, caches, limits, leavesDockerfiles },
          instances: createInstances(releases, sandbox, settings),
        };
        for (const name of await releases.names()) if (!(await keepsRelease(name))) await discard(name);
        await mkdir(caches, { recursive: true });
        for (const name of await readdir(caches)) if (!(await keepsProject(name))) await forget(name);
      },

      async abandon(deployment_id) {
        const { task } = tasks.get(deployment_id) ?? {};
        await task?.abort();
        tasks.delete(deployment_id);
        await started.get(deployment_id)?.stop(grace_ms);
        started.delete(deployment_id);
        await discard(deployment_id);
      },

      take(deployment_id) {
        const instance = started.get(deployment_id);
        started.delete(deployment_id);
        tasks.delete(deployment_id);
        return instance;
      },

      async start(app) {
        const run = { log: () => {}, isFull: () => true, signal: closing.signal };
        const { name, stored } = await releaseOf(app, app.release, run);
        return ports().instances.start({ ...app, release: name }, stored, closing.signal);
      },

      discard,

      forget,

      async close(drained) {
        closing.abort();
        await Promise.all([drained, ...[...tasks.values()].map(({ task }) => task.abort())]);
        await begun?.instances.close(closingGrace_ms);
      },
    },
  };
}
