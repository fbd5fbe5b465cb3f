import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { ArgsDef } from "citty";
import * as v from "valibot";
import { type Client, ClientProblem, createClient } from "../lib/client.ts";
import { hint } from "../lib/kernel/did-you-mean.ts";
import { fromEnvironment, UsageError } from "./arguments.ts";
import { type Given, json } from "./define-command.ts";

/** Flags of the commands that call a running service. A key is no flag: every user of the machine could read it. */
export const connectionArgs: ArgsDef = {
  url: {
    type: "string",
    description:
      "Where the service is; else the named profile, SVC_URL or the profile default says so, in this order (http://127.0.0.1:7400).",
    valueHint: "URL",
  },
  profile: {
    type: "string",
    description: "A profile that svc-server login has kept (SVC_PROFILE); it wins over SVC_URL and SVC_API_KEY.",
    valueHint: "NAME",
  },
  ...json,
};

const file = v.record(v.string(), v.object({ url: v.string(), api_key: v.string() }));
type Profiles = v.InferOutput<typeof file>;

/** `profiles.json` in the user's folder for configuration. */
export function profilesFile(): string {
  const { APPDATA, XDG_CONFIG_HOME } = process.env;
  return join(APPDATA || XDG_CONFIG_HOME || join(homedir(), ".config"), "svc-server", "profiles.json");
}

export function readProfiles(): Profiles {
  const path = profilesFile();
  if (!existsSync(path)) return {};
  if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0)
    throw new Error(`${path} holds keys and can be read by others; run: chmod 600 ${path}`);
  try {
    return v.parse(file, JSON.parse(readFileSync(path, "utf8")));
  } catch {
    throw new Error(`${path} is not a file of profiles; remove it and run svc-server login again`);
  }
}

export function saveProfile(name: string, url: string, api_key: string): void {
  const path = profilesFile();
  const all = { ...readProfiles(), [name]: { url, api_key } };
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
  chmodSync(path, 0o600);
}

/** Where a service is, with which key, and what said so. */
export interface Connection {
  readonly url: string;
  readonly urlSource: string;
  readonly apiKey: string | undefined;
  readonly keySource: string;
}

/** The profile that a flag names, else the environment. */
export const profileName = ({ profile }: Given): string | null =>
  profile === undefined ? (fromEnvironment("SVC_PROFILE") ?? null) : String(profile);

/** Which service, and with which key: a named profile, else the environment, else the profile `default`. */
export function connectionOf(args: Given, named = profileName(args)): Connection {
  const [SVC_URL, SVC_API_KEY] = [fromEnvironment("SVC_URL"), fromEnvironment("SVC_API_KEY")];
  const profiles = named !== null || !SVC_API_KEY ? readProfiles() : {};
  const name = named ?? "default";
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (named !== null && !profile)
    throw new UsageError(
      `there is no profile "${name}"${hint(name, Object.keys(profiles))}; make it with: svc-server login`,
    );
  const kept = { url: profile?.url, urlSource: `the address in the profile ${name}` };
  const places = [
    { url: args["url"], urlSource: "option --url" },
    ...(named ? [kept] : []),
    { url: SVC_URL, urlSource: "SVC_URL" },
    kept,
  ];
  const { url, urlSource } = places.find(({ url }) => url) ?? {
    url: "http://127.0.0.1:7400",
    urlSource: "the address",
  };
  const place = { url: String(url), urlSource };
  // A profile's key goes to the profile's service and nowhere else.
  const key = profile && sameOrigin(profile.url, place.url) ? profile.api_key : undefined;
  const isVariable = !named && Boolean(SVC_API_KEY);
  return {
    ...place,
    apiKey: isVariable ? SVC_API_KEY : key,
    keySource: isVariable ? "SVC_API_KEY" : `the key in the profile ${name}`,
  };
}

const sameOrigin = (a: string, b: string) =>
  URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;

/** The interface of a service: its address with `/v1`, which may be left out. */
export const baseOf = (url: string) => (/\/v\d+\/?$/.test(url) ? url : `${url.replace(/\/$/, "")}/v1`);

export function clientOf({ url, urlSource, apiKey, keySource }: Connection): Client {
  try {
    return createClient({ baseUrl: baseOf(url), apiKey });
  } catch (error) {
    // The library's words are not those of the command line.
    const { message } = error as Error;
    if (message.startsWith("apiKey")) throw new UsageError(message.replace("apiKey", keySource));
    throw new UsageError(`${urlSource} must be an http or https URL such as http://127.0.0.1:7400`);
  }
}

/** A refusal in words for people: each broken rule on a line, and what helps. */
export function explainedError(error: unknown, { apiKey, keySource, url }: Connection): unknown {
  // What the client refuses before it sends anything was given wrong on the command line.
  if (error instanceof TypeError) return new UsageError(error.message);
  if (!(error instanceof ClientProblem)) return error;
  const lines = error.details.length > 1 ? error.details.map(({ path, message }) => `\n  ${path} ${message}`) : [];
  const wanted = apiKey
    ? `${keySource} was refused: it is wrong or revoked, has expired, or is not of ${url}`
    : "Set SVC_API_KEY, or keep a key with: svc-server login";
  const key = error.code === "unauthorized" ? `\n  ${wanted}` : "";
  const id = error.requestId ? `, ${error.requestId}` : "";
  return new Error(`${error.message} (${error.code}${id})${lines.join("")}${key}`, { cause: error });
}
