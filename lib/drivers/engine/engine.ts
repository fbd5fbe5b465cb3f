import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { AbortController } from "../../kernel/web.ts";
import { createBackgroundSteps, type Run } from "../deployment/background-steps.ts";
import type { App, Instance } from "../deployment/contract.ts";
import { removeLeftovers } from "../deployment/leftovers.ts";
import type { RuntimeDriver } from "../deployment/runtime-list.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { BuildPorts } from "../process/build.ts";
import { createGit } from "../process/git.ts";
import type { CodeHost } from "../process/git-command.ts";
import { createProjectCaches } from "../process/project-caches.ts";
import { createReleases } from "../process/releases.ts";
import { connectEngine, type Engine } from "./connect.ts";
import { createContainers, labels } from "./containers.ts";
import type { Registries } from "./credentials.ts";
import { createEngineInstances, type EngineInstances, type Running } from "./engine-instances.ts";
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

/** While the server stops, everything together has ten seconds. */
const closingGrace_ms = 4_000;

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
  const caches = createProjectCaches(join(folder, "engine/cache"));
  /** The end of this process: what runs goes on without it. */
  const detaching = new AbortController();
  // Each container's log and its end listen, as long as it runs.
  setMaxListeners(0, detaching.signal);
  let begun: Begun | undefined;

  const ports = () => {
    if (!begun) throw new Error("the runtime has not begun");
    return begun;
  };

  /** Takes over the container of a live release that ran before this process; undefined where there is none. */
  const adopt = async (app: App, image: Image, run: Run): Promise<Instance | undefined> => {
    const { running, instances } = ports();
    const found = running.get(app.deployment_id);
    running.delete(app.deployment_id);
    // One that does not answer any more is replaced.
    return found && instances.adopt(app, image, found, run).catch(() => undefined);
  };

  const discard = async (release: string) => ports().images.remove(release);

  const steps = createBackgroundSteps({
    pinned: "image",

    async releaseOf(order, wanted, run) {
      const { images, release } = ports();
      const stored = wanted === null ? undefined : await images.find(wanted);
      if (stored && wanted !== null) return { name: wanted, image: stored, pin: order.pin, isNew: false };
      const { image, pin } = await makeRelease(order, run, release);
      return { name: order.deployment_id, image, pin, isNew: true };
    },

    async start(app, { image }, run) {
      run.log({ level: "info", message: "Starting a container" });
      return (await adopt(app, image, run)) ?? ports().instances.start(app, image, run);
    },

    discard,
  });

  return {
    delay: () => 0,

    step: steps.step,

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
        await removeLeftovers(images, kept.release, kept.warn);
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
        const git = createGit(join(folder, "engine/git"), caches.folder, codeHost);
        const sources = createReleases(join(folder, "engine/sources"));
        await removeLeftovers(sources, async () => false, kept.warn);
        await removeLeftovers(caches, kept.project, kept.warn);
        const common = { registries, outbound, limits, folder };
        begun = { engine, images, release: { engine, api, images, git, sources, ...common }, instances, running };
      },

      abandon: steps.abandon,

      take: steps.take,

      start: steps.start,

      discard,

      forget: caches.remove,

      async close(drained) {
        await steps.close(drained);
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
