import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { ArgsDef } from "citty";
import * as v from "valibot";
import { type Client, ClientProblem, createClient } from "../lib/client.ts";
import { didYouMean } from "../lib/kernel/text/did-you-mean.ts";
import { readText } from "../lib/kernel/text/paths.ts";
import { parseUrl } from "../lib/kernel/text/url.ts";
import { fromEnvironment, requireKnown, UsageError } from "./arguments.ts";
import { type Command, type Given, json, type Listing, option, parent } from "./define-command.ts";
import { note } from "./output.ts";

/**
 * Options of commands that call a running service. None accepts a key, because all users of the machine can read
 * arguments.
 */
export const connectionArgs: ArgsDef = {
  url: option(
    "The address of the service. Without it, the named profile, then SVC_URL, then the profile default (http://127.0.0.1:7400).",
    "URL",
  ),
  profile: option("A profile saved by svc-server login (SVC_PROFILE). It overrides SVC_URL and SVC_API_KEY.", "NAME"),
  ...json,
};

/** Groups commands under a first word. Without a second word, the command `usual` runs. */
export const commandGroup = (name: string, usual: string, list: Listing): Command => ({
  ...parent(name, "", list),
  args: connectionArgs,
  // Options before the subcommand would be ignored, so they are refused.
  setup({ rawArgs }) {
    if (rawArgs[0]?.startsWith("-")) requireKnown(rawArgs, connectionArgs);
  },
  default: usual,
});

const file = v.record(v.string(), v.object({ url: v.string(), api_key: v.string() }));
type Profiles = v.InferOutput<typeof file>;

export function profilesFile(): string {
  const { APPDATA, XDG_CONFIG_HOME } = process.env;
  return join(APPDATA || XDG_CONFIG_HOME || join(homedir(), ".config"), "svc-server", "profiles.json");
}

export function readProfiles(): Profiles {
  const path = profilesFile();
  if (!existsSync(path)) return {};
  if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0)
    throw new Error(`${path} holds keys and can be read by other users; run: chmod 600 ${path}`);
  try {
    return v.parse(file, JSON.parse(readText(path)));
  } catch {
    throw new Error(`${path} is not a valid file of profiles; remove it and run svc-server login again`);
  }
}

export function saveProfile(name: string, url: string, api_key: string): void {
  const path = profilesFile();
  const all = { ...readProfiles(), [name]: { url, api_key } };
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
  chmodSync(path, 0o600);
}

/** A service's address and key, each with its source for error messages. */
export interface Connection {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly keySource: string;
}

/** The profile from --profile, else from SVC_PROFILE; null if neither is set. */
export const profileName = ({ profile }: Given): string | null =>
  profile === undefined ? (fromEnvironment("SVC_PROFILE") ?? null) : String(profile);

/** Chooses address and key: from a named profile, else from the environment, else from the profile `default`. */
export function connectionOf(args: Given, named = profileName(args)): Connection {
  const [SVC_URL, SVC_API_KEY] = [fromEnvironment("SVC_URL"), fromEnvironment("SVC_API_KEY")];
  const profiles = named !== null || !SVC_API_KEY ? readProfiles() : {};
  const name = named ?? "default";
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (named !== null && !profile)
    throw new UsageError(
      `there is no profile "${name}"${didYouMean(name, Object.keys(profiles))}; create it with: svc-server login`,
    );
  const saved = { url: profile?.url, urlSource: `the address in the profile ${name}` };
  const candidates = [
    { url: args["url"], urlSource: "option --url" },
    ...(named ? [saved] : []),
    { url: SVC_URL, urlSource: "SVC_URL" },
    saved,
  ];
  const { url, urlSource } = candidates.find(({ url }) => url) ?? {
    url: "http://127.0.0.1:7400",
    urlSource: "the address",
  };
  const address = { url: String(url) };
  const { protocol = "", username, password } = parseUrl(address.url) ?? {};
  if (!/^https?:$/.test(protocol) || username || password)
    throw new UsageError(`${urlSource} must be an http or https URL such as http://127.0.0.1:7400`);
  // A profile's key is only sent to that profile's service.
  const key = profile && sameOrigin(profile.url, address.url) ? profile.api_key : undefined;
  const isVariable = !named && Boolean(SVC_API_KEY);
  return {
    ...address,
    apiKey: isVariable ? SVC_API_KEY : key,
    keySource: isVariable ? "SVC_API_KEY" : `the key in the profile ${name}`,
  };
}

const sameOrigin = (a: string, b: string) => {
  const origin = parseUrl(a)?.origin;
  return origin !== undefined && origin === parseUrl(b)?.origin;
};

/** The API's base URL: the address, with `/v1` added if it is missing. */
export const baseOf = (url: string) => (/\/v\d+\/?$/.test(url) ? url : `${url.replace(/\/$/, "")}/v1`);

function sayRetry({ message }: ClientProblem, wait_ms: number): void {
  if (wait_ms >= 1_000) note(`retrying in ${wait_ms / 1_000} s: ${message}`);
}

export function clientOf({ url, apiKey, keySource }: Connection): Client {
  try {
    return createClient({ baseUrl: baseOf(url), apiKey, onRetry: sayRetry });
  } catch (error) {
    // Names the variable or profile instead of the library's option.
    throw new UsageError((error as Error).message.replace("apiKey", keySource));
  }
}

export async function withClient<T>(connection: Connection, work: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await work(clientOf(connection));
  } catch (error) {
    throw explainedError(error, connection);
  }
}

/** Formats a call's error for people: one line per broken rule, and how to fix a refused key. */
export function explainedError(error: unknown, { apiKey, keySource, url }: Connection): unknown {
  // The client refuses invalid input before it sends a request.
  if (error instanceof TypeError) return new UsageError(error.message);
  if (!(error instanceof ClientProblem)) return error;
  const count = error.details.length;
  const message = count > 1 ? `${count} fields are wrong` : error.message;
  const lines = count > 1 ? error.details.map(({ path, message }) => `\n  ${path} ${message}`) : [];
  const remedy = apiKey
    ? `${keySource} was refused: it is wrong, revoked, expired, or belongs to another service than ${url}`
    : "Set SVC_API_KEY, or save a key with: svc-server login";
  const key = error.code === "unauthorized" ? `\n  ${remedy}` : "";
  const id = error.requestId ? `, ${error.requestId}` : "";
  return new Error(`${message} (${error.code}${id})${lines.join("")}${key}`, { cause: error });
}
