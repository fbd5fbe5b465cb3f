import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname } from "node:path";
import * as v from "valibot";
import { temporaryPrefix } from "../runtime/temporary-folder.ts";
import { type Containers, labels } from "./container-settings.ts";
import { type EngineApi, EngineError } from "./engine-api.ts";

/** The names of one service's objects in the engine, derived from the folder beside its database. */
export interface Names {
  readonly folder: string;
  readonly label: string;
  readonly repository: string;
  readonly network: string;
}

export function namesOf(folder: string): Names {
  const short = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  const network = `svc-server-${short}`;
  return { folder, label: `${labels.folder}=${folder}`, repository: `svc-server/${short}`, network };
}

const listed = v.array(v.object({ Name: v.string(), Labels: v.nullish(v.record(v.string(), v.string()), {}) }));
/** Containers reach each other only through their published ports. */
const isolated = { "com.docker.network.bridge.enable_icc": "false" };

export async function ensureNetwork(api: EngineApi, { network, folder }: Names): Promise<void> {
  try {
    await api.tell("GET", `/networks/${network}`);
  } catch (error) {
    if (!(error instanceof EngineError) || error.status !== 404) throw error;
    const body = { Name: network, CheckDuplicate: true, Driver: "bridge", Labels: { [labels.folder]: folder } };
    await api.tell("POST", "/networks/create", { body: { ...body, Options: isolated } }).catch(async (refused) => {
      // Podman does not support the option.
      if (!(refused instanceof EngineError) || !/option/i.test(refused.message)) throw refused;
      await api.tell("POST", "/networks/create", { body });
    });
  }
}

export async function removeAll(
  api: EngineApi,
  containers: Containers,
  names: Names,
  images: { names(): Promise<string[]>; remove(release: string): Promise<void> },
): Promise<void> {
  for (const { id } of await containers.list(names.label)) await containers.remove(id);
  for (const name of await images.names()) await images.remove(name);
  await api.tellIfThere("DELETE", `/networks/${names.network}`);
}

/** Temporary folders of in-memory services that were killed. The folders were removed, but their networks remain. */
export async function goneFolders(api: EngineApi): Promise<string[]> {
  const query = { filters: JSON.stringify({ label: [labels.folder] }) };
  const networks = await api.call(listed, "GET", "/networks", { query });
  return networks.flatMap(({ Labels }) => {
    const folder = Labels?.[labels.folder] ?? "";
    const isTemporary = dirname(folder) === tmpdir() && basename(folder).startsWith(temporaryPrefix);
    return isTemporary && !existsSync(folder) ? [folder] : [];
  });
}
