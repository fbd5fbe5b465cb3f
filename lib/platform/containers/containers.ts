import { setMaxListeners } from "node:events";
import { join } from "node:path";
import type { Kept } from "../../drivers/deployment/contract.ts";
import type { Outbound } from "../../drivers/outbound/outbound.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { parseReference } from "../../kernel/text/image-reference.ts";
import { withinLimits } from "../runtime/build-limits.ts";
import { createDataFolders } from "../runtime/data-folders.ts";
import type { Release, RuntimeKind, RuntimeSettings } from "../runtime/driver.ts";
import { Failure } from "../runtime/failure.ts";
import { createGit } from "../runtime/git.ts";
import { removeLeftovers } from "../runtime/leftovers.ts";
import { createProjectCaches } from "../runtime/project-caches.ts";
import { createReleases } from "../runtime/releases.ts";
import type { Order, Run } from "../runtime/task.ts";
import type { ReleasePorts } from "./base-images.ts";
import { connectEngine } from "./connect.ts";
import { createEngineInstances, type EngineInstances, type Running } from "./container-instances.ts";
import { type Containers, createContainers, labels } from "./container-settings.ts";
import { credentialFor, engineHeaders, type Registries } from "./credentials.ts";
import { buildImage } from "./image-build.ts";
import { besideOf } from "./image-settings.ts";
import { checkImage, createImages, type Image } from "./images.ts";
import { goneFolders, namesOf, removeAll } from "./ownership.ts";
import { resolveDigest } from "./registry.ts";

export interface EngineSettings extends RuntimeSettings {
  readonly registries: Registries;
  readonly outbound: Pick<Outbound, "callBackend">;
  /** Whether the next process takes over running containers. If false, they end with this process. */
  readonly isLasting: boolean;
}

/** The whole shutdown has ten seconds. */
const closingGrace_ms = 4_000;

interface Begun extends ReleasePorts {
  readonly containers: Containers;
  readonly instances: EngineInstances;
}

/** Makes the image of a release: pulls it by its digest, or builds it from a commit. */
const makeRelease = (order: Order, run: Run, ports: ReleasePorts): Promise<{ image: Image; pin: string }> =>
  withinLimits(run, ports, async (limited) => {
    const { images, engine, limits } = ports;
    const pin =
      order.source.type === "image" ? await pull(order, limited, ports) : await buildImage(order, limited, ports);
    const image = await images.find(order.deployment_id);
    if (!image) throw new Failure("the image was removed as soon as it was stored");
    checkImage(image, engine.platform, limits.disk_bytes);
    run.log({ level: "info", message: `Stored an image of ${byteSizeText(image.bytes)}` });
    return { image, pin };
  });

/** Pulls an image by the digest to which its tag points now; returns the digest. */
async function pull({ deployment_id, source, pin }: Order, { log, signal }: Run, ports: ReleasePorts): Promise<string> {
  const { images, registries, outbound, limits } = ports;
  const reference = parseReference(source.image_url ?? "");
  const credential = await credentialFor(reference.registry, registries, log);
  log({ level: "info", message: `Pulling ${source.image_url}` });
  const digest = pin ?? (await resolveDigest(reference, { outbound, credential, signal }));
  log({ level: "info", message: `Resolved the image to ${digest}` });
  const headers = engineHeaders(reference, credential);
  await images.pull(reference, digest, deployment_id, { log, signal, headers, max_bytes: limits.disk_bytes });
  return digest;
}

const pullsIn = (folder: string) => join(folder, "engine/pulls");

/** Runs images as containers of an engine. `folder` identifies this service's containers and holds their state. */
export function createEngineRuntime(
  folder: string,
  { codeHost, registries, outbound, limits, isLasting, buildVariables = {}, ...settings }: EngineSettings,
): RuntimeKind {
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

  /** Returns the running containers of live releases, and removes all others. */
  const runningIn = async (containers: Containers, kept: Kept): Promise<Set<Running>> => {
    const left = new Set<Running>();
    for (const { id, isRunning, labels: its } of await containers.list(names.label)) {
      const live = await kept.live(its[labels.deployment] ?? "");
      const isSame = (one: Running) =>
        [labels.deployment, labels.beside].every((name) => one.labels[name] === its[name]);
      // After a restart, no code waits for the command of a schedule.
      const isOver = !isRunning || (its[labels.beside] ?? "").startsWith("schedule ") || [...left].some(isSame);
      if (live && !isOver) left.add({ id, labels: its, since_s: live.since_ms / 1000 });
      else await containers.remove(id);
    }
    return left;
  };

  const releaseOf = (name: string, image: Image, pin?: string): Release => ({
    name,
    ...(pin !== undefined && { pin }),
    ...besideOf(image),
    start(app, run) {
      run.log({ level: "info", message: "Starting a container" });
      return ports().instances.start(app, image, run);
    },
    command: (app, schedule, take, signals) => ports().instances.command(app, image, schedule, take, signals),
  });

  return {
    name: "engine",

    // Only a fetched repository shows whether it has a Dockerfile.
    refuses: () => undefined,

    detail: () => `engine, with ${ports().engine.name}`,

    async begin(kept) {
      const engine = await connectEngine();
      const { api } = engine;
      const containers = createContainers(api);
      const images = createImages(api, names.repository, pullsIn(folder));
      await images.removeInterrupted();
      const left = await runningIn(containers, kept);
      for (const gone of await goneFolders(api)) {
        const its = namesOf(gone);
        await removeAll(api, containers, its, createImages(api, its.repository, pullsIn(gone)));
      }
      const common = { engine, containers, data, names, left, detaching: detaching.signal };
      const instances = createEngineInstances({ ...common, ...settings });
      const host = { ...codeHost, mayFetch: kept.mayFetch };
      const git = createGit(join(folder, "engine/git"), caches.folder, host, settings.gitGroup);
      const sources = createReleases(join(folder, "engine/sources"));
      await removeLeftovers(sources, async () => false, kept.warn);
      const given = { registries, outbound, limits, folder, variables: buildVariables };
      begun = { engine, containers, images, git, sources, instances, ...given };
    },

    async find(name) {
      const image = await ports().images.find(name);
      return image && releaseOf(name, image);
    },

    async build(order, run) {
      const { image, pin } = await makeRelease(order, run, ports());
      return releaseOf(order.deployment_id, image, pin);
    },

    releases() {
      const { containers, images } = ports();
      return {
        names: images.names,
        async remove(release) {
          await containers.removed();
          await images.remove(release);
        },
      };
    },

    caches,
    data,

    async close() {
      await begun?.instances.endCommands(closingGrace_ms);
      if (begun && !isLasting) {
        const { engine, containers, images, instances } = begun;
        await instances.stopAll(closingGrace_ms);
        await removeAll(engine.api, containers, names, images).catch(() => {});
      }
      detaching.abort();
    },
  };
}
