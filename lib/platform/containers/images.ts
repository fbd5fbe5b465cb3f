import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import type { LogLine } from "../../drivers/deployment/contract.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { type ImageReference, nameOf } from "../../kernel/text/image-reference.ts";
import { Failure } from "../runtime/failure.ts";
import { createOneAtATime } from "../runtime/one-at-a-time.ts";
import { onAbort } from "../runtime/pause.ts";
import { type EngineApi, EngineError, jsonLines } from "./engine-api.ts";

const named = v.nullish(v.record(v.string(), v.unknown()));
const config = v.object({
  ExposedPorts: named,
  Volumes: named,
  Labels: v.nullish(v.record(v.string(), v.string())),
  OnBuild: v.nullish(v.array(v.string())),
});
const image = v.pipe(
  v.object({
    Id: v.string(),
    Architecture: v.optional(v.string(), ""),
    Os: v.optional(v.string(), ""),
    Size: v.optional(v.number(), 0),
    Config: v.nullish(config),
  }),
  v.transform(({ Id, Architecture, Os, Size, Config }) => ({
    id: Id,
    platform: `${Os}/${Architecture}`,
    bytes: Size,
    ports: Object.keys(Config?.ExposedPorts ?? {}).flatMap((port) =>
      /^\d+(\/tcp)?$/.test(port) ? Number.parseInt(port, 10) : [],
    ),
    volumes: Object.keys(Config?.Volumes ?? {}),
    labels: Config?.Labels ?? {},
    /** ONBUILD instructions. They run when another image is built on this one. */
    triggers: Config?.OnBuild ?? [],
  })),
);
const listed = v.array(v.object({ RepoTags: v.nullish(v.array(v.string())) }));

export type Image = Readonly<v.InferOutput<typeof image>>;

export interface Pull {
  readonly log: (line: LogLine) => void;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly max_bytes: number;
}

/** A registry that sends no data for this long has stalled. */
const maxSilence = "60s";
const plainHttp =
  "; give the registry TLS, or name it in the engine's settings: insecure-registries of Docker, registries.conf of Podman";
const releaseName = /^dep_[0-9A-Z]{26}$/;

const count = v.optional(v.number(), 0);
const progressLine = v.object({
  error: v.optional(v.string()),
  status: v.optional(v.string(), ""),
  id: v.optional(v.string(), ""),
  progressDetail: v.optional(v.nullable(v.object({ current: count, total: count })), { current: 0, total: 0 }),
});

const progressPause_ms = 2_000;

/** Turns the progress of a pull into a few log lines. Throws if the engine reports an error or an image too large. */
function createPullProgress(log: (line: LogLine) => void, max_bytes: number) {
  const layers = new Map<string, { got: number; total: number; isDone: boolean }>();
  let next_at = monotonicNow() + progressPause_ms;
  const sum = (of: (layer: { got: number; total: number }) => number) =>
    [...layers.values()].reduce((all, layer) => all + of(layer), 0);
  return (given: unknown): void => {
    const parsed = v.safeParse(progressLine, given);
    if (!parsed.success) return;
    const { error, status, id, progressDetail } = parsed.output;
    if (error !== undefined) throw new EngineError(error);
    const isLayer = /^(Downloading|Download complete|Extracting|Pull complete|Already exists)/.test(status);
    if (!isLayer) return;
    const layer = layers.get(id) ?? { got: 0, total: 0, isDone: false };
    layers.set(id, layer);
    if (status === "Downloading") {
      layer.got = progressDetail?.current ?? 0;
      layer.total = Math.max(layer.total, progressDetail?.total ?? 0);
    } else if (/complete|exists/.test(status)) layer.got = layer.total;
    layer.isDone ||= /^(Pull complete|Already exists)/.test(status);
    const total = sum((one) => one.total);
    if (total > max_bytes)
      throw new EngineError(`the image is larger than deployments.buildDisk (${byteSizeText(max_bytes)})`);
    if (monotonicNow() < next_at) return;
    next_at = monotonicNow() + progressPause_ms;
    const done = [...layers.values()].filter(({ isDone }) => isDone).length;
    const message = `Pulled ${byteSizeText(sum((one) => one.got))} of ${byteSizeText(total)}, ${done} of ${layers.size} layers`;
    log({ level: "info", message });
  };
}

/**
 * The images of releases, each tagged with its deployment. A pulled image has no other name, so removing its tag
 * deletes it. An image that somebody else pulled stays.
 */
export function createImages(api: EngineApi, repository: string, pullsFolder: string) {
  const tagOf = (release: string) => {
    if (!releaseName.test(release)) throw new Error(`${release} is not the name of a release`);
    return `${repository}:${release}`;
  };
  /** A pull of an image must not remove a name that another pull still needs. */
  const oneAtATime = createOneAtATime();

  const inspect = async (name: string, signal?: AbortSignal): Promise<Image | undefined> => {
    try {
      return await api.call(image, "GET", `/images/${encodeURIComponent(name)}/json`, signal && { signal });
    } catch (error) {
      if (error instanceof EngineError && error.status === 404) return undefined;
      throw error;
    }
  };

  /** Removes a name. The engine deletes an image that has no other name, unless a foreign container uses it. */
  const untag = (name: string) => api.tellIfThere("DELETE", `/images/${encodeURIComponent(name)}`);

  const download = async (image: ImageReference, digest: string, { log, signal, headers, max_bytes }: Pull) => {
    const silence = new AbortController();
    const stopListening = onAbort(signal, () => silence.abort());
    let hasStalled = false;
    const watch = () =>
      systemTimer(maxSilence, () => {
        hasStalled = true;
        silence.abort();
      });
    let cancel = watch();
    try {
      const query = { fromImage: nameOf(image), tag: digest };
      const call = { query, signal: silence.signal, timeout: null, ...(headers && { headers }) };
      const progress = createPullProgress(log, max_bytes);
      const response = await api.open("POST", "/images/create", call);
      for await (const line of jsonLines(response)) {
        cancel();
        cancel = watch();
        progress(line);
      }
    } catch (error) {
      if (hasStalled) throw new Failure(`the registry sent nothing for ${maxSilence}`);
      if (!(error instanceof EngineError)) throw error;
      const hint = /server gave HTTP response to HTTPS client/.test(error.message) ? plainHttp : "";
      throw new EngineError(`the image cannot be pulled: ${error.message}${hint}`, error.status);
    } finally {
      cancel();
      stopListening();
      // Aborts a response that was not read to its end. That also ends the pull.
      silence.abort();
    }
  };

  return {
    tagOf,
    inspect,

    find: (release: string) => inspect(tagOf(release)),

    /** Pulls an image by its digest and tags it with a release. */
    pull(image: ImageReference, digest: string, release: string, pull: Pull): Promise<void> {
      const name = `${nameOf(image)}@${digest}`;
      const note = join(pullsFolder, release);
      return oneAtATime(name, async () => {
        if (pull.signal.aborted) throw new Failure("it was ended");
        const isOthers = (await inspect(name, pull.signal)) !== undefined;
        if (!isOthers) {
          await mkdir(pullsFolder, { recursive: true });
          await writeFile(note, name);
        }
        try {
          await download(image, digest, pull);
          const [repo = "", tag = ""] = tagOf(release).split(":");
          await api.tell("POST", `/images/${encodeURIComponent(name)}/tag`, { query: { repo, tag } });
        } finally {
          if (!isOthers) {
            await untag(name).catch(() => {});
            await rm(note, { force: true });
          }
        }
      });
    },

    /** Pulls a base image by its digest. It stays in the engine as a cache. */
    pullBase(image: ImageReference, digest: string, pull: Pull): Promise<Image> {
      const name = `${nameOf(image)}@${digest}`;
      return oneAtATime(name, async () => {
        const stored = await inspect(name, pull.signal);
        if (stored) return stored;
        await download(image, digest, pull);
        const pulled = await inspect(name, pull.signal);
        if (pulled) return pulled;
        throw new Failure("the image was removed as soon as it was stored");
      });
    },

    async removeInterrupted(): Promise<void> {
      if (!existsSync(pullsFolder)) return;
      for (const file of await readdir(pullsFolder)) {
        await untag(await readFile(join(pullsFolder, file), "utf8"));
        await rm(join(pullsFolder, file), { force: true });
      }
    },

    remove: (release: string) => untag(tagOf(release)),

    async names(): Promise<string[]> {
      const filters = JSON.stringify({ reference: [`${repository}:*`] });
      const all = await api.call(listed, "GET", "/images/json", { query: { filters } });
      return all
        .flatMap(({ RepoTags }) => RepoTags ?? [])
        .flatMap((tag) => {
          const release = tag.slice(tag.lastIndexOf(":") + 1);
          return releaseName.test(release) && tag.includes(repository) ? [release] : [];
        });
    },
  };
}
export type Images = ReturnType<typeof createImages>;

/** Throws if the engine cannot run an image, or if the image is too large. */
export function checkImage({ platform, bytes }: Image, own: string, max_bytes: number): void {
  const runs = [own, ...(own === "linux/amd64" ? ["linux/386"] : own === "linux/arm64" ? ["linux/arm"] : [])];
  if (!runs.includes(platform)) throw new Failure(`the image is for ${platform}, and the engine runs ${own}`);
  if (bytes > max_bytes)
    throw new Failure(
      `the image is larger than deployments.buildDisk (${byteSizeText(max_bytes)}): ${byteSizeText(bytes)}`,
    );
}
