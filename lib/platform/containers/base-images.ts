import { packTar } from "modern-tar/fs";
import * as v from "valibot";
import type { Outbound } from "../../drivers/outbound/outbound.ts";
import { isImageName, nameOf, parseReference } from "../../kernel/text/image-reference.ts";
import type { BuildLimits, LimitedRun } from "../runtime/build-limits.ts";
import { Failure } from "../runtime/failure.ts";
import type { Git } from "../runtime/git.ts";
import type { Releases } from "../runtime/releases.ts";
import type { Engine } from "./connect.ts";
import { credentialFor, engineHeaders, type Registries } from "./credentials.ts";
import { checkTrigger, type SourcePorts } from "./dockerfile-sources.ts";
import { EngineError, jsonLines } from "./engine-api.ts";
import type { Images } from "./images.ts";
import { resolveDigest } from "./registry.ts";

export interface ReleasePorts {
  readonly engine: Engine;
  readonly images: Images;
  readonly registries: Registries;
  readonly outbound: Pick<Outbound, "callBackend">;
  readonly git: Git;
  /** Holds the files of a commit during its build. */
  readonly sources: Releases;
  readonly limits: BuildLimits & { readonly timeout_ms: number };
  /** Option `deployments.buildVariables`: build arguments. */
  readonly variables: Readonly<Record<string, string>>;
  readonly folder: string;
}

export const buildAnswer = v.object({ stream: v.optional(v.string(), ""), error: v.optional(v.string()) });

const idForm = /^(sha256:)?[0-9a-f]{64}$/;

/**
 * Prepares the base images of one build by their digests. The registry is asked even if the engine has the image,
 * because another organization may have pulled it.
 */
export function createPin({ log, signal }: LimitedRun, ports: ReleasePorts): SourcePorts["pin"] {
  const { engine, images, registries, outbound, limits } = ports;
  const pin = async (name: string) => {
    if (idForm.test(name) || !isImageName(name))
      throw new Failure("this is not an image with its registry, such as registry.example.com/team/app:1.4.2");
    const reference = parseReference(name);
    const credential = await credentialFor(reference.registry, registries, log);
    const digest = await resolveDigest(reference, { outbound, credential, signal });
    log({ level: "info", message: `Resolved ${name} to ${digest}` });
    const headers = engineHeaders(reference, credential);
    const pull = { log, signal, headers, max_bytes: limits.disk_bytes };
    const { triggers } = await images.pullBase(reference, digest, pull);
    for (const trigger of triggers) checkTrigger(trigger);
    const pinned = `${nameOf(reference)}@${digest}`;
    if (engine.isPodman) await refuseHiddenTriggers(pinned, ports, signal);
    return pinned;
  };
  const pinned = new Map<string, Promise<string>>();
  return (name) => {
    const one = pinned.get(name) ?? pin(name);
    pinned.set(name, one);
    return one;
  };
}

/** Podman does not list the ONBUILD triggers of an image. A build of `FROM` alone, without network, reveals them. */
async function refuseHiddenTriggers(
  image: string,
  { engine: { api }, limits }: ReleasePorts,
  signal: AbortSignal,
): Promise<void> {
  const body = packTar([{ type: "content", target: "Dockerfile", content: `FROM ${image}\n` }]);
  const memory = String(limits.memory_bytes);
  const query = { networkmode: "none", rm: "1", forcerm: "1", memory, memswap: memory };
  for await (const line of jsonLines(await api.open("POST", "/build", { query, body, signal, timeout: null }))) {
    const { stream, error } = v.parse(buildAnswer, line);
    if (error !== undefined) throw new EngineError(error);
    if (/STEP (?!1\/1:)\d/.test(stream))
      throw new Failure("it has a trigger (ONBUILD), and Podman does not show which images that names");
  }
}
