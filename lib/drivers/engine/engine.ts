import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { AbortController } from "../../kernel/web.ts";
import type { App, DeploymentWork, Instance, Progress } from "../deployment/contract.ts";
import type { RuntimeDriver } from "../deployment/runtime-list.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { BuildPorts, Order } from "../process/build.ts";
import { Declined, Failure, Unhealthy } from "../process/failure.ts";
import { createGit } from "../process/git.ts";
import type { CodeHost } from "../process/git-command.ts";
import { createReleases } from "../process/releases.ts";
import { createTask, type Task } from "../process/task.ts";
import { connectEngine, type Engine } from "./connect.ts";
import { createContainers, labels } from "./containers.ts";
import type { Registries } from "./credentials.ts";
import { createEngineInstances, type EngineInstances, type Running } from "./engine-instances.ts";
import type { Run } from "./image-build.ts";
import { createImages, type Image, type Images } from "./images.ts";
import { goneFolders, namesOf, removeAll } from "./ownership.ts";
import { makeRelease, pullsIn, type ReleasePorts } from "./releases.ts";

export interface EngineSettings {
  readonly codeHost: CodeHost;
  readonly registries: Registries;
  readonly outbound: Pick<Outbound, "callBackend">;
  readonly appMemory_bytes: number;
  readonly healthTimeout_ms: number;
  readonly limits: BuildPorts["limits"];
  /** Whether a next process takes over what runs; otherwise everything ends with this one. */
  readonly isLasting: boolean;
}

const grace_ms = 10_000;
/** While the server stops, everything together has ten seconds. */
const closingGrace_ms = 4_000;

const orderOf = ({ outcome, step, elapsed_ms, handle, ...order }: DeploymentWork) => ({
  ...order,
  pin: order.pin ?? order.revision,
});

interface Begun {
  readonly engine: Engine;
  readonly images: Images;
  readonly release: ReleasePorts;
  readonly instances: EngineInstances;
  /** Containers of live releases that ran before this process, by their deployment. */
  readonly running: Map<string, Running>;
}

/** Runs images as containers of an engine. `folder` names what belongs to this service, and holds what it notes. */
export function createEngineDriver(
  folder: string,
  { codeHost, registries, outbound, limits, isLasting, ...settings }: EngineSettings,
): RuntimeDriver {
  const names = namesOf(folder);
  /** The work for each deployment: its build, then its rollout. */
  const tasks = new Map<string, { readonly step: DeploymentWork["step"]; readonly task: Task }>();
  /** Instances that a rollout started, until they are taken. */
  const started = new Map<string, Instance>();
  const closing = new AbortController();
  /** The end of this process: what runs goes on without it. */
  const detaching = new AbortController();
  let begun: Begun | undefined;

  const ports = () => {
    if (!begun) throw new Error("the runtime has not begun");
    return begun;
  };

  /** The image of the release that was asked for, if it is still stored; otherwise it is made again, from its pin. */
  const releaseOf = async (order: Order, wanted: string | null, run: Run) => {
    const { images, release } = ports();
    const stored = wanted === null ? undefined : await images.find(wanted);
    if (stored && wanted !== null) return { name: wanted, image: stored, pin: order.pin, isNew: false };
    const { image, pin } = await makeRelease(order, run, release);
    return { name: order.deployment_id, image, pin, isNew: true };
  };

  const runBuild = async (work: DeploymentWork, run: Run): Promise<Progress> => {
    if (work.version !== null && orderOf(work).pin === null)
      throw new Failure(`version ${work.version} was deployed without a runtime, so nobody knows its image`);
    const { name, pin, isNew } = await releaseOf(orderOf(work), work.release, run);
    if (!isNew) run.log({ level: "info", message: "The release is still stored, so nothing is built" });
    const version = work.version ?? work.source.tag ?? pin;
    return { state: "done", version, pin, release: name, logs: [] };
  };

  const runRollout = async (work: DeploymentWork, run: Run): Promise<Progress> => {
    const { name, image } = await releaseOf(orderOf(work), work.release, run);
    run.log({ level: "info", message: "Starting a container" });
    const app = { ...orderOf(work), release: name };
    const instance = await ports().instances.start(app, image, run.signal);
    started.set(work.deployment_id, instance);
    run.log({ level: "info", message: "The health check passed" });
    return { state: "done", version: work.version, logs: [] };
  };

  const failed = (error: unknown): Progress & { state: "failed" | "unhealthy" } => {
    const { message, cause } = error as Error;
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
        return (await run(work, { ...given, isFull: () => task.isFull() })) as Exclude<Progress, { state: "running" }>;
      } catch (error) {
        return failed(error);
      }
    });
    tasks.set(work.deployment_id, { step: work.step, task });
    return task;
  };

  /** For each project the commits that were fetched. */
  const caches = join(folder, "engine/cache");
  const forget = (project_id: string) => rm(join(caches, project_id), { recursive: true, force: true, maxRetries: 3 });

  const discard = async (release: string) => ports().images.remove(release);

  /** Takes over the container of a live release that ran before this process; undefined where there is none. */
  const adopt = async (app: App, image: Image): Promise<Instance | undefined> => {
    const { running, instances } = ports();
    const found = running.get(app.deployment_id);
    running.delete(app.deployment_id);
    // One that does not answer any more is replaced.
    return found && instances.adopt(app, image, found, closing.signal).catch(() => undefined);
  };

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
      name: "engine",

      // Whether a repository has a Dockerfile shows once it is fetched.
      refuses: () => undefined,

      detail: () => `engine, with ${ports().engine.name}`,

      stores: async (release) => (await ports().images.find(release)) !== undefined,

      async begin(kept) {
        const engine = await connectEngine();
        const { api } = engine;
        const containers = createContainers(api);
        const images = createImages(api, names.repository, pullsIn(folder));
        const running = new Map<string, Running>();
        await images.removeInterrupted();
        for (const { id, isRunning, labels: its } of await containers.list(names.label)) {
          const deployment_id = its[labels.deployment] ?? "";
          const live = await kept.live(deployment_id);
          if (live && isRunning && !running.has(deployment_id))
            running.set(deployment_id, { id, since_s: live.since_ms / 1000 });
          else await containers.remove(id);
        }
        for (const name of await images.names()) if (!(await kept.release(name))) await images.remove(name);
        for (const gone of await goneFolders(api)) {
          const its = namesOf(gone);
          await removeAll(api, containers, its, createImages(api, its.repository, pullsIn(gone)));
        }
        const instances = createEngineInstances({
          engine,
          containers,
          names,
          detaching: detaching.signal,
          ...settings,
        });
        const git = createGit(join(folder, "engine/git"), caches, codeHost);
        const sources = createReleases(join(folder, "engine/sources"));
        for (const name of await sources.names()) await sources.remove(name);
        await mkdir(caches, { recursive: true });
        for (const name of await readdir(caches)) if (!(await kept.project(name))) await forget(name);
        const common = { registries, outbound, limits, folder };
        begun = { engine, images, release: { engine, api, images, git, sources, ...common }, instances, running };
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
        const { name, image } = await releaseOf(app, app.release, run);
        const order = { ...app, release: name };
        return (await adopt(order, image)) ?? ports().instances.start(order, image, closing.signal);
      },

      discard,

      forget,

      async close(drained) {
        closing.abort();
        await Promise.all([drained, ...[...tasks.values()].map(({ task }) => task.abort())]);
        if (begun && !isLasting) {
          const { engine, images, instances } = begun;
          await instances.stopAll(closingGrace_ms);
          await removeAll(engine.api, createContainers(engine.api), names, images).catch(() => {});
        }
        detaching.abort();
      },
    },
  };
}
