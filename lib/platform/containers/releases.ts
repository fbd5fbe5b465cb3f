import { join } from "node:path";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { parseReference } from "../../kernel/text/image-reference.ts";
import { withinLimits } from "../runtime/build-limits.ts";
import { Failure } from "../runtime/failure.ts";
import type { Order, Run } from "../runtime/task.ts";
import type { ReleasePorts } from "./base-images.ts";
import { credentialFor, engineHeaders } from "./credentials.ts";
import { buildImage } from "./image-build.ts";
import { checkImage, type Image } from "./images.ts";
import { resolveDigest } from "./registry.ts";

/** Makes the image of a release: pulls it by its digest, or builds it from a commit. */
export const makeRelease = (order: Order, run: Run, ports: ReleasePorts): Promise<{ image: Image; pin: string }> =>
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

export const pullsIn = (folder: string) => join(folder, "engine/pulls");
