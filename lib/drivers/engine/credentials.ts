import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { defaultRegistry, type ImageReference } from "./image-reference.ts";

export interface Credential {
  readonly username: string;
  readonly password: string;
}

/** Option `deployments.registries`: a credential for each host. */
export type Registries = Readonly<Record<string, Credential>>;

const stored = v.object({ auths: v.optional(v.record(v.string(), v.object({ auth: v.optional(v.string()) })), {}) });

/** `https://index.docker.io/v1/` is Docker's own key for its registry. */
const hostOf = (key: string) => {
  const [host = ""] = key
    .replace(/^https?:\/\//, "")
    .toLowerCase()
    .split("/", 1);
  return host === "index.docker.io" || host === "registry-1.docker.io" ? defaultRegistry : host;
};

/** The credentials in the file of `docker login`. Those that lie in the system's keychain are not read. */
function fromFile(): Map<string, Credential> {
  const folder = process.env["DOCKER_CONFIG"] || join(homedir(), ".docker");
  try {
    const parsed = v.parse(stored, JSON.parse(readFileSync(join(folder, "config.json"), "utf8")));
    return new Map(
      Object.entries(parsed.auths).flatMap(([key, { auth = "" }]) => {
        const [, username, password] = /^([^:]+):(.*)$/s.exec(Buffer.from(auth, "base64").toString()) ?? [];
        return username === undefined || password === undefined ? [] : [[hostOf(key), { username, password }] as const];
      }),
    );
  } catch {
    return new Map(); // Without the file, or without sense in it, there are no credentials.
  }
}

/** The credential for the registry of an image: that of the options, else that of `docker login`. */
export function credentialFor({ registry }: ImageReference, registries: Registries): Credential | undefined {
  const given = Object.entries(registries).find(([host]) => hostOf(host) === registry);
  return given ? given[1] : fromFile().get(registry);
}

/** The header with which the engine signs in. */
export const engineHeaders = ({ registry }: ImageReference, credential: Credential | undefined) =>
  credential && {
    "x-registry-auth": Buffer.from(
      JSON.stringify({
        ...credential,
        serveraddress: registry === defaultRegistry ? "https://index.docker.io/v1/" : registry,
      }),
    ).toString("base64url"),
  };
