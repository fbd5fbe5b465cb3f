import { lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { AbortController } from "../../kernel/node/web.ts";
import { hideValues } from "../../kernel/secrets/secret-values.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { ownSettings, readWithin, rootWithin, settingsWithin } from "../runtime/app-settings.ts";
import type { LimitedRun } from "../runtime/build-limits.ts";
import { Declined, Failure } from "../runtime/failure.ts";
import { createLineReader } from "../runtime/lines.ts";
import { onAbort, pause, repeat } from "../runtime/pause.ts";
import { explainMissing, fetchSource, secretsIn } from "../runtime/source.ts";
import type { Order } from "../runtime/task.ts";
import { buildAnswer, createPin, type ReleasePorts } from "./base-images.ts";
import { needsBuildKit } from "./buildkit.ts";
import { createContainers, labels, writtenBytes } from "./container-settings.ts";
import { tarOf } from "./context-tar.ts";
import { withoutBuildKit } from "./dockerfile.ts";
import { type Pinned, pinSources } from "./dockerfile-sources.ts";
import { contextFilter } from "./dockerignore.ts";
import { type EngineApi, EngineError, jsonLines } from "./engine-api.ts";
import { besideLabels } from "./image-settings.ts";

/** The default capabilities of Podman that a package installation does not need. */
const notInBuilds = ["AUDIT_WRITE", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETPCAP", "SYS_CHROOT"];
const running = v.object({ State: v.object({ Running: v.boolean() }) });
const watch_ms = 1_000;
const dangling = JSON.stringify({ dangling: ["true"] });
const imageIds = v.array(v.object({ Id: v.string() }));
const origin = v.object({ Container: v.optional(v.string(), "") });
/**
 * How often to look for an image that the engine may still be writing: in all, and after the step's container is gone.
 */
const search = { tries: 240, afterwards: 20, pause_ms: 250 };

const isFile = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** Builds a commit with its Dockerfile and names the image after the release. Returns the commit. */
export async function buildImage(order: Order, run: LimitedRun, ports: ReleasePorts): Promise<string> {
  const { sources, git, limits } = ports;
  const { deployment_id } = order;
  await sources.create(deployment_id);
  try {
    const { commit, missing } = await fetchSource(order, run, { git, releases: sources, limits });
    const root = rootWithin(sources.appOf(deployment_id), order.root);
    if (!isFile(join(root, "Dockerfile")))
      throw new Declined("nothing to run was found: the runtime engine needs a Dockerfile at the top");
    if (ownSettings(root).runtime === "process") throw new Declined("svc.json asks for the runtime process");
    await make(order, root, run, ports).catch((error) => {
      throw explainMissing(missing, error);
    });
    return commit;
  } finally {
    await sources.remove(deployment_id);
  }
}

/** Of `.dockerignore`, in KiB: each pattern is compared with each path. */
const maxIgnore = 16;

async function make(order: Order, root: string, run: LimitedRun, ports: ReleasePorts): Promise<void> {
  const { deployment_id, secrets, project_id, environment } = order;
  const { log, isFull, signal, end } = run;
  const { engine, images, limits, variables } = ports;
  const { api } = engine;
  const dockerfile = readWithin(root, "Dockerfile") ?? "";
  const pinned = await pinSources(dockerfile, {
    platform: engine.platform,
    cache: `${project_id}/${environment}`,
    pin: createPin(run, ports),
  });
  writeFileSync(join(root, "Dockerfile"), pinned.text);
  const ignored = readWithin(root, ".dockerignore", maxIgnore) ?? "";
  const { health, port, schedules } = ownSettings(root);
  const query = {
    t: images.tagOf(deployment_id),
    memory: String(limits.memory_bytes),
    memswap: String(limits.memory_bytes),
    buildargs: JSON.stringify(variables),
    rm: "1",
    forcerm: "1",
    // Docker ignores this parameter: its build steps keep the default capabilities.
    dropcaps: JSON.stringify(notInBuilds.map((name) => `CAP_${name}`)),
    labels: JSON.stringify({
      ...(health !== undefined && { [labels.health]: health }),
      ...(port !== undefined && { [labels.port]: String(port) }),
      ...besideLabels(settingsWithin(root, "Procfile") ?? "", schedules),
    }),
  };
  if (signal.aborted) throw new Failure("it was ended");
  log({ level: "info", message: "Building the Dockerfile" });
  const progress = createProgress();
  const reader = createLineReader(log, hideValues([...secrets, ...secretsIn(variables)]));
  const reading = new AbortController();
  const stopListening = onAbort(signal, () => reading.abort());
  const unwatch = watchDisk(api, progress, limits.disk_bytes, end);
  try {
    const body = tarOf(root, contextFilter(ignored));
    const call = { query, body, signal: reading.signal, timeout: null };
    for await (const line of jsonLines(await api.open("POST", "/build", call))) {
      const { stream, error } = v.parse(buildAnswer, line);
      if (error !== undefined) throw new EngineError(error);
      progress.read(stream);
      if (!isFull()) reader.write(Buffer.from(stream));
    }
  } catch (error) {
    await progress.remove(api, signal.aborted);
    if (!(error instanceof EngineError)) throw error;
    throw new Failure(explain(error.message, dockerfile, pinned, limits.memory_bytes));
  } finally {
    unwatch();
    reader.end();
    stopListening();
    reading.abort();
  }
}

/** Explains a failed build to a user who sees the repository's Dockerfile but not the engine. */
function explain(error: string, dockerfile: string, { lines }: Pinned, memory_bytes: number): string {
  const shown = error.replace(/(?<=parse error (?:on )?line )\d+/, (line) => String(lines[Number(line) - 1] ?? line));
  const reason = `the build failed: ${shown}`;
  if (/(non-zero code:|exit status) 137\b/.test(error))
    return `${reason}; it was killed, and may have used more memory than deployments.buildMemory (${byteSizeText(memory_bytes)})`;
  const newer = /buildkit|unknown (flag|instruction)|parse error/i.test(error) ? needsBuildKit(dockerfile) : undefined;
  return newer === undefined ? reason : `${reason}; ${newer} ${withoutBuildKit}`;
}

/**
 * Finds the container of the current step and the image of the last one. Docker prints ` ---> 0123456789ab`; Podman
 * prints `--> 0123456789a`, and no container.
 */
function createProgress() {
  let container: string | undefined;
  let image: string | undefined;
  let isOwn = false;
  return {
    read(said: string): void {
      const [, running] = /^ ---> Running in ([0-9a-f]{12,64})/.exec(said) ?? [];
      const [, made] = /^ ?---?> ([0-9a-f]{11,64})\s*$/.exec(said) ?? [];
      const [, instruction] = /^step \d+\/\d+ ?: ?([a-z]+)/i.exec(said) ?? [];
      if (instruction !== undefined) isOwn = instruction.toUpperCase() !== "FROM";
      // The image comes from an earlier build, so this build must not remove it.
      if (said.includes("Using cache")) isOwn = false;
      if (running !== undefined) container = running;
      if (made !== undefined && isOwn) image = made;
    },
    running: () => container,
    /** Removes the leftovers of a failed build. The engine also removes the parents of its last image. */
    async remove(api: EngineApi, isAborted: boolean): Promise<void> {
      try {
        const late = isAborted && container !== undefined ? await lateImageOf(api, container) : undefined;
        if (container !== undefined)
          // The engine may be removing it already, and refuses to remove its image until then.
          await createContainers(api).remove(container);
        for (const id of [late, image]) if (id !== undefined) await api.tellIfThere("DELETE", `/images/${id}`);
      } catch {
        // The engine is unreachable. The build's own error reports that.
      }
    },
  };
}

/**
 * The image of a step that ended just before its build was aborted: Docker does not report it. Undefined if the step
 * still runs.
 */
async function lateImageOf(api: EngineApi, container: string): Promise<string | undefined> {
  for (let [tries, afterwards] = [0, 0]; tries < search.tries && afterwards < search.afterwards; tries++) {
    const state = await api.call(running, "GET", `/containers/${container}/json`).catch(() => undefined);
    if (state?.State.Running) return undefined;
    if (!state) afterwards += 1;
    for (const { Id } of await api.call(imageIds, "GET", "/images/json", { query: { filters: dangling } })) {
      const { Container } = await api.call(origin, "GET", `/images/${Id}/json`);
      if (Container.startsWith(container)) return Id;
    }
    await pause(search.pause_ms);
  }
  return undefined;
}

function watchDisk(
  api: EngineApi,
  made: ReturnType<typeof createProgress>,
  max_bytes: number,
  end: (reason: string) => void,
): () => void {
  return repeat(watch_ms, async () => {
    const id = made.running();
    const bytes = id === undefined ? 0 : await writtenBytes(api, id).catch(() => 0);
    // Only the first call has an effect.
    if (bytes > max_bytes) end(`it wrote more than deployments.buildDisk (${byteSizeText(max_bytes)})`);
  });
}
