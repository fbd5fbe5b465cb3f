import { homedir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import type { LogLine } from "../../drivers/deployment/contract.ts";
import { defaultRegistry, type ImageReference } from "../../kernel/text/image-reference.ts";
import { readText } from "../../kernel/text/paths.ts";
import { askCredentialHelper } from "./credential-helper.ts";

export interface Credential {
  readonly username: string;
  readonly password: string;
}

/** Option `deployments.registries`: a credential per host. */
export type Registries = Readonly<Record<string, Credential>>;

const text = v.optional(v.string(), "");
const stored = v.object({
  auths: v.optional(v.record(v.string(), v.object({ auth: text })), {}),
  credHelpers: v.optional(v.record(v.string(), v.string()), {}),
  credsStore: text,
});

/** Docker stores its own registry under the key `https://index.docker.io/v1/`. */
const hostOf = (key: string) => {
  const [host = ""] = key
    .replace(/^https?:\/\//, "")
    .toLowerCase()
    .split("/", 1);
  return host === "index.docker.io" || host === "registry-1.docker.io" ? defaultRegistry : host;
};

const serverOf = (registry: string) => (registry === defaultRegistry ? "https://index.docker.io/v1/" : registry);

/** The file of `docker login`; undefined if it is missing or invalid. */
function loginFile(): v.InferOutput<typeof stored> | undefined {
  const folder = process.env["DOCKER_CONFIG"] || join(homedir(), ".docker");
  try {
    return v.parse(stored, JSON.parse(readText(join(folder, "config.json"))));
  } catch {
    return undefined;
  }
}

/** The credential that `docker login` stored, in its file or in a credential helper. */
async function fromLogin(registry: string, log: (line: LogLine) => void): Promise<Credential | undefined> {
  const file = loginFile();
  if (!file) return undefined;
  const its = <T>(entries: Readonly<Record<string, T>>) =>
    Object.entries(entries).find(([key]) => hostOf(key) === registry)?.[1];
  const helper = its(file.credHelpers) ?? file.credsStore;
  if (helper !== "")
    try {
      const credential = await askCredentialHelper(helper, serverOf(registry));
      if (credential) return credential;
    } catch (error) {
      const { message } = error as Error;
      log({
        level: "warn",
        message: `The credential helper ${helper} returned no credential for ${registry}: ${message}`,
      });
    }
  const decoded = Buffer.from(its(file.auths)?.auth ?? "", "base64").toString();
  const [, username, password] = /^([^:]+):(.*)$/s.exec(decoded) ?? [];
  return username === undefined || password === undefined ? undefined : { username, password };
}

/** The credential for an image's registry: from the options, else from `docker login`. */
export async function credentialFor(
  registry: string,
  registries: Registries,
  log: (line: LogLine) => void,
): Promise<Credential | undefined> {
  const configured = Object.entries(registries).find(([host]) => hostOf(host) === registry);
  return configured ? configured[1] : fromLogin(registry, log);
}

/** Encodes a header value. Podman refuses base64 without padding, and Docker reads it only in part. */
const headerOf = (value: object) =>
  Buffer.from(JSON.stringify(value)).toString("base64").replace(/\+/g, "-").replace(/\//g, "_");

export const engineHeaders = ({ registry }: ImageReference, credential: Credential | undefined) =>
  credential && { "x-registry-auth": headerOf({ ...credential, serveraddress: serverOf(registry) }) };
