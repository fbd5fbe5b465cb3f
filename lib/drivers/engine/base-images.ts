import type { Outbound } from "../outbound/outbound.ts";
import type { LimitedRun } from "../process/build-limits.ts";
import { Failure } from "../process/failure.ts";
import { credentialFor, engineHeaders, type Registries } from "./credentials.ts";
import { checkTrigger, type SourcePorts } from "./dockerfile-sources.ts";
import { isImageName, nameOf, parseReference } from "./image-reference.ts";
import type { Images } from "./images.ts";
import { resolveDigest } from "./registry.ts";

export interface BaseImagePorts {
  readonly images: Images;
  readonly registries: Registries;
  readonly outbound: Pick<Outbound, "callBackend">;
  readonly limits: { readonly disk_bytes: number };
}

const idForm = /^(sha256:)?[0-9a-f]{64}$/;

/**
 * Makes the images of one build ready, each by the digest that its registry has now. The registry is asked for each, also
 * where the engine has the image: another organization may have pulled it.
 */
export function createPin({ log, signal }: LimitedRun, ports: BaseImagePorts): SourcePorts["pin"] {
  const { images, registries, outbound, limits } = ports;
  const pin = async (name: string, platform: string | null) => {
    if (idForm.test(name) || !isImageName(name))
      throw new Failure("this is no image with its registry, such as registry.example.com/team/app:1.4.2");
    const reference = parseReference(name);
    const credential = await credentialFor(reference.registry, registries, log);
    const digest = await resolveDigest(reference, { outbound, credential, signal });
    log({ level: "info", message: `Resolved ${name} to ${digest}` });
    const headers = engineHeaders(reference, credential);
    const pull = { log, signal, headers, most_bytes: limits.disk_bytes };
    const { triggers } = await images.pullBase(reference, digest, platform, pull);
    for (const trigger of triggers) checkTrigger(trigger);
    return `${nameOf(reference)}@${digest}`;
  };
  const pinned = new Map<string, Promise<string>>();
  return (name, platform) => {
    const key = `${name} ${platform}`;
    const one = pinned.get(key) ?? pin(name, platform);
    pinned.set(key, one);
    return one;
  };
}
