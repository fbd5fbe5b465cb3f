import { setMaxListeners } from "node:events";
import { join } from "node:path";
import type { Outbound } from "../../drivers/outbound/outbound.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { createBackgroundSteps } from "../runtime/background-steps.ts";
import type { BuildLimits } from "../runtime/build-limits.ts";
import { createDataFolders } from "../runtime/data-folders.ts";
import { createGit } from "../runtime/git.ts";
import type { CodeHost } from "../runtime/git-command.ts";
import { removeLeftovers } from "../runtime/leftovers.ts";
import type { GitGroup } from "../runtime/limited-git.ts";
import { createProjectCaches } from "../runtime/project-caches.ts";
import { createReleases } from "../runtime/releases.ts";
import type { RuntimeDriver } from "../runtime/runtime-list.ts";
import { connectEngine, type Engine } from "./connect.ts";
import { createEngineInstances, type EngineInstances, type Running } from "./container-instances.ts";
import { type Containers, createContainers, labels } from "./container-settings.ts";
import type { Registries } from "./credentials.ts";
import { besideOf } from "./image-settings.ts";
import { createImages, type Images } from "./images.ts";
import { goneFolders, namesOf, removeAll } from "./ownership.ts";
import { makeRelease, pullsIn, type ReleasePorts } from "./releases.ts";

export interface EngineSettings {
  readonly codeHost: CodeHost;
  readonly gitGroup?: GitGroup;
  readonly registries: Registries;
  readonly outbound: Pick<Outbound, "callBackend">;
  readonly appMemory_bytes: number;
  readonly healthTimeout_ms: number;
  readonly scratch_bytes: number;
  readonly limits: BuildLimits & { readonly timeout_ms: number };
  /** Option `deployments.buildVariables`. */
  readonly buildVariables?: Readonly<Record<string, string>>;
  /** The parent folder of the environments' data. */
  readonly dataFolder?: string;
  /** Whether the next process takes over running containers. If false, they end with this process. */
  readonly isLasting: boolean;
}

/** The whole shutdown has ten seconds. */
const closingGrace_ms = 4_000;

interface Begun {
  readonly engine: Engine;
  readonly containers: Containers;
  readonly images: Images;
  readonly release: ReleasePorts;
  readonly instances: EngineInstances;
}

/** Runs images as containers of an engine. `folder` identifies this service's containers and holds its notes about them. */
export function createEngineDriver(
  folder: string,
  { codeHost, registries, outbound, limits, isLasting, buildVariables = {}, ...settings }: EngineSettings,
): RuntimeDriver {
  const names = namesOf(folder);
  const caches = createProjectCaches(join(folder, "engine/cache"));
  /** Aborted when this process ends; its containers keep running. */
  const detaching = new AbortController();
  // Each running container adds several listeners to this signal.
  setMaxListeners(0, detaching.signal);
  const data = createDataFolders(settings.dataFolder ?? join(folder, "data"));
  let begun: Begun | undefined;

  const ports = () => {
    if (!begun) throw new Error("the runtime has not started");
    return begun;
  };

  const discard = async (release: string) => {
    const { containers, images } = ports();
    await containers.removed();
    await images.remove(release);
  };

  const steps = createBackgroundSteps({
    pinned: "image",

    async releaseOf(order, wanted, run) {
      const { images, release } = ports();
      const stored = wanted === null ? undefined : await images.find(wanted);
      if (stored && wanted !== null)
        return { name: wanted, image: stored, pin: order.pin, isNew: false, ...besideOf(stored) };
      const { image, pin } = await makeRelease(order, run, release);
      return { name: order.deployment_id, image, pin, isNew: true, ...besideOf(image) };
    },

    start(app, { image }, run) {
      run.log({ level: "info", message: "Starting a container" });
      return ports().instances.start(app, image, run);
    },

    discard,
  });

  return {
    delay: () => 0,

    step: steps.step,

    runtime: {
      name: "engine",

      // Only a fetched repository shows whether it has a Dockerfile.
      refuses: () => undefined,

      detail: () => `engine, with ${ports().engine.name}`,

      stores: async (release) => (await ports().images.find(release)) !== undefined,

      async begin(kept) {
        const engine = await connectEngine();
        const { api } = engine;
        const containers = createContainers(api);
        const images = createImages(api, names.repository, pullsIn(folder));
        const left = new Set<Running>();
        await images.removeInterrupted();
        for (const { id, isRunning, labels: its } of await containers.list(names.label)) {
          const live = await kept.live(its[labels.deployment] ?? "");
          const isSame = (one: Running) =>
            [labels.deployment, labels.beside].every((name) => one.labels[name] === its[name]);
          // After a restart, no code waits for the command of a schedule.
          const isOver = !isRunning || (its[labels.beside] ?? "").startsWith("schedule ") || [...left].some(isSame);
          if (live && !isOver) left.add({ id, labels: its, since_s: live.since_ms / 1000 });
          else await containers.remove(id);
        }
        await removeLeftovers(images, kept.release, kept.warn);
        for (const gone of await goneFolders(api)) {
          const its = namesOf(gone);
          await removeAll(api, containers, its, createImages(api, its.repository, pullsIn(gone)));
        }
        const instances = createEngineInstances({
          engine,
          containers,
          data,
          names,
          left,
          detaching: detaching.signal,
          ...settings,
        });
        const host = { ...codeHost, mayFetch: kept.mayFetch };
        const git = createGit(join(folder, "engine/git"), caches.folder, host, settings.gitGroup);
        const sources = createReleases(join(folder, "engine/sources"));
        await removeLeftovers(sources, async () => false, kept.warn);
        await removeLeftovers(caches, kept.project, kept.warn);
        if (kept.environment) await data.removeGone(kept.environment);
        const common = { registries, outbound, limits, folder, variables: buildVariables };
        begun = { engine, containers, images, release: { engine, api, images, git, sources, ...common }, instances };
      },

      abandon: steps.abandon,

      take: steps.take,

      start: steps.start,

      discard,

      async command(app, schedule, take, signal) {
        const { image } = await steps.release(app);
        return ports().instances.command(app, image, schedule, take, [signal, steps.signal]);
      },

      dataBytes: data.bytes,

      retireData: data.retire,

      async forget(project_id, environment) {
        await caches.remove(project_id, environment);
        await data.remove(project_id, environment);
      },

      async close(drained) {
        await steps.close(drained);
        await begun?.instances.endCommands(closingGrace_ms);
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
