import { join } from "node:path";
import { byteSizeText } from "../../kernel/byte-size.ts";
import type { Order, Run } from "../deployment/background-steps.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { limited } from "../process/build.ts";
import { freeBytes } from "../process/disk.ts";
import { Failure } from "../process/failure.ts";
import type { Engine } from "./connect.ts";
import { credentialFor, engineHeaders } from "./credentials.ts";
import { buildImage, type ImageBuildPorts } from "./image-build.ts";
import { parseReference } from "./image-reference.ts";
import { checkImage, type Image } from "./images.ts";
import { resolveDigest } from "./registry.ts";

export interface ReleasePorts extends ImageBuildPorts {
  readonly folder: string;
  readonly engine: Engine;
  readonly outbound: Pick<Outbound, "callBackend">;
}

/** What a build made: its image, and the pin by which it can be made again. */
export interface Made {
  readonly image: Image;
  readonly pin: string;
}

/** No build starts with less, in bytes: the database needs room too. */
const leastFree = 1024 ** 3;

/** Makes the image of a release: pulls it by its digest, or builds it of a commit. */
export async function makeRelease(order: Order, run: Run, ports: ReleasePorts): Promise<Made> {
  const free = await freeBytes(ports.folder);
  if (free < leastFree) throw new Failure(`only ${byteSizeText(free)} of disk is free, and a build needs 1 GiB`);
  const limit = limited(run.signal, ports.limits);
  try {
    const given = { ...run, signal: limit.signal, end: limit.end };
    const { images, engine, limits } = ports;
    const pin = order.source.type === "image" ? await pull(order, given, ports) : await buildImage(order, given, ports);
    const image = await images.find(order.deployment_id);
    if (!image) throw new Failure("the image went away as soon as it was there");
    checkImage(image, engine.platform, limits.disk_bytes);
    run.log({ level: "info", message: `Stored an image of ${byteSizeText(image.bytes)}` });
    return { image, pin };
  } catch (error) {
    throw limit.reason() === undefined ? error : new Failure(limit.reason());
  } finally {
    limit.done();
  }
}

/** Pulls an image by the digest that its tag has now; answers the digest. */
async function pull({ deployment_id, source, pin }: Order, { log, signal }: Run, ports: ReleasePorts): Promise<string> {
  const { images, registries, outbound, limits } = ports;
  const reference = parseReference(source.image_url ?? "");
  const credential = credentialFor(reference, registries);
  log({ level: "info", message: `Pulling ${source.image_url}` });
  const digest = pin ?? reference.digest ?? (await resolveDigest(reference, { outbound, credential, signal }));
  log({ level: "info", message: `Resolved the image to ${digest}` });
  const headers = engineHeaders(reference, credential);
  await images.pull(reference, digest, deployment_id, { log, signal, headers, most_bytes: limits.disk_bytes });
  return digest;
}

/** Notes of the pulls that go on. */
export const pullsIn = (folder: string) => join(folder, "engine/pulls");
