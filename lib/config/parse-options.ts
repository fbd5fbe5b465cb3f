import { statSync } from "node:fs";
import * as v from "valibot";
import { didYouMean } from "../kernel/text/did-you-mean.ts";
import { parseUrl } from "../kernel/text/url.ts";
import { detailOf, isUnknown } from "../kernel/validation.ts";
import { databaseRule, isOtherUrl, isPostgres } from "../store/database-url.ts";
import type { Options } from "./generated/options.ts";
import type { OptionHelp } from "./options/option-types.ts";
import { optionsSchema } from "./options/options-schema.ts";

export type Settings = v.InferOutput<typeof optionsSchema> & {
  /** Set with PostgreSQL only: whether the option `deployments.runtime` was given as `simulated`. */
  readonly isSimulatedByChoice?: boolean;
};

export class BadOptions extends Error {
  override readonly name = "BadOptions";
  /** The path of the wrong option: `deployments.concurrency`. */
  readonly path: string;
  readonly rule: string;

  constructor(path: string, rule: string) {
    super(`option ${path} ${rule}`);
    this.path = path;
    this.rule = rule;
  }
}

/** Whether deployments run on this machine and apps are served. */
export const runsForReal = ({ deployments }: Pick<Settings, "deployments">): boolean =>
  deployments.driver?.runtime !== undefined ||
  (deployments.driver === undefined && !deployments.runtime.includes("simulated"));

export const domainsOf = ({ domain, url }: Settings["apps"]): readonly string[] => [
  ...new Set(url === undefined ? [domain] : [domain, new URL(url).hostname]),
];

/** Whether mails are sent. In `dev`, mails leave the machine only with `outbound.send`. */
export const sendsMail = ({ mode, strict, mail: { url, transport }, outbound: { send } }: Settings): boolean =>
  transport !== undefined || (url !== undefined && !strict && (mode === "start" || send === true));

/** Whether the options say how other machines reach the service. */
export const mayBeReached = ({ publicUrl, behindProxy, trustNetwork }: Settings): boolean =>
  publicUrl !== undefined || behindProxy || trustNetwork.names.length > 0;

/** Parses the options. Throws {BadOptions}, which names the first wrong option and its rule. */
export function parseOptions(given: unknown): Settings {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new TypeError("the options must be an object");
  const { mail } = given as Options;
  const result = v.safeParse(
    optionsSchema,
    typeof mail === "function" ? { ...given, mail: { transport: mail } } : given,
  );
  if (!result.success) {
    const [issue] = result.issues;
    const { path, message } = detailOf(issue);
    throw new BadOptions(path, isUnknown(issue) ? message + nearestOption(path) : message);
  }
  const { mode, database } = result.output;
  if (mode === "start") checkStart(result.output);
  checkTogether(result.output);
  if (isPostgres(database)) checkPostgres(result.output);
  else checkFile(result.output);
  const isChosen = (given as Options).deployments?.runtime !== undefined;
  const settings = isPostgres(database)
    ? { ...result.output, isSimulatedByChoice: isChosen && !runsForReal(result.output) }
    : result.output;
  if (!result.output.strict) return settings;
  // Options that were not given get the defaults of strict mode.
  const { rateLimit = 0, addressRateLimit = 0, generations: { media = "fast" } = {} } = given as Options;
  return { ...settings, rateLimit, addressRateLimit, generations: { ...settings.generations, media } };
}

function refuse(path: string, isBroken: boolean, rule: string): void {
  if (isBroken) throw new BadOptions(path, rule);
}

function checkStart({ clock, key, random, codeHost, transport, timers, outbound, trustNetwork, strict }: Settings) {
  refuse("clock", clock !== "real", "must be real in the mode start");
  refuse("key", key !== undefined, "is for the mode dev; make a key with: svc-server keys create");
  refuse("random", random !== undefined, "is for the mode dev; a seeded key could be guessed");
  const reposRule = "is for the mode dev; name a folder with codeHost.url, such as file:///srv/git/{repo}.git";
  refuse("codeHost.repos", codeHost.repos !== undefined, reposRule);
  refuse("transport", transport !== undefined, "is for the mode dev; in start everything goes over the network");
  refuse("timers", timers !== undefined, "is for the mode dev: in start the clock is real");
  refuse("outbound.send", outbound.send !== undefined, "is for the mode dev; start sends every delivery");
  refuse("trustNetwork", trustNetwork.names.length > 0, "is for the mode dev; start has no control interface");
  refuse("strict", strict, "is for the mode dev");
}

/** The rules about options that depend on each other, in both modes. */
function checkTogether({ clock, codeHost: { repos }, deployments, timers, dashboard }: Settings) {
  const isFolder = repos === undefined || statSync(repos, { throwIfNoEntry: false })?.isDirectory();
  refuse("codeHost.repos", !isFolder, `must be a folder of repositories; there is none at ${repos}`);
  const runtime = deployments.driver?.runtime?.name ?? deployments.runtime.join();
  refuse("clock", clock !== "real" && runsForReal({ deployments }), `must be real with the runtime ${runtime}`);
  const isManual = clock.startsWith("manual");
  refuse("timers", timers !== undefined && !isManual, 'move with a manual clock only: add clock: "manual"');
  const hasSignIn = !dashboard || dashboard.keySignIn || dashboard.oidc !== undefined;
  refuse("dashboard.keySignIn", !hasSignIn, "must be true without dashboard.oidc, or nobody could sign in");
}

function checkPostgres({ database, encryptionKey, keyFile, assets, apps, deployments }: Settings) {
  const urlRule =
    "must be a URL such as postgres://user:password@host/name; write / of a password as %2F, # as %23, and ? as %3F";
  refuse("database", !parseUrl(database), urlRule);
  const hasBoth = encryptionKey !== undefined && keyFile !== undefined;
  refuse("keyFile", hasBoth, "cannot be combined with encryptionKey; give only one of them");
  const isHalf = (assets.store === "folder") !== (assets.folder !== undefined);
  refuse("assets.folder", isHalf, 'and the value "folder" of assets.store belong together');
  const folderRule =
    "must name a folder of this machine for a runtime with PostgreSQL (--apps-folder /var/lib/svc-server/apps)";
  refuse("apps.folder", runsForReal({ deployments }) && apps.folder === undefined, folderRule);
}

function checkFile({ database, encryptionKey, keyFile, assets, apps }: Settings) {
  refuse("database", isOtherUrl(database), databaseRule);
  const onlyForPostgres = {
    encryptionKey,
    keyFile,
    "assets.store": assets.store,
    "assets.folder": assets.folder,
    "apps.folder": apps.folder,
  };
  for (const [path, value] of Object.entries(onlyForPostgres))
    refuse(path, value !== undefined, "is for PostgreSQL; a database file has its key and its files beside it");
}

/** An option, for code that parses it from text or documents it. */
export interface OptionInfo {
  /** The full name, joined by dots: `deployments.concurrency`. */
  readonly path: string;
  readonly help: string;
  readonly fallback: unknown;
  /** The command-line flag that sets it; undefined if there is none. */
  readonly flag: string | undefined;
  /** The placeholder for the flag's value; undefined for a switch. */
  readonly value: string | undefined;
  /** The only mode that has the option; undefined if both have it. */
  readonly mode: "dev" | "start" | undefined;
  /** Its format as text in a flag or variable; undefined if it has no text form, such as a function. */
  readonly format: "text" | "number" | "switch" | "list" | "json" | "file" | undefined;
}

const formats: Readonly<Record<string, OptionInfo["format"]>> = {
  string: "text",
  picklist: "text",
  number: "number",
  boolean: "switch",
  array: "list",
  // A list, or one word that stands for a whole list.
  union: "list",
  record: "json",
  // A switch with nested options.
  lazy: "switch",
};

export const allOptions: readonly OptionInfo[] = leavesOf(optionsSchema.entries, "");

function leavesOf(entries: v.ObjectEntries, prefix: string): OptionInfo[] {
  return Object.entries(entries).flatMap(([name, entry]) => {
    const { wrapped = entry as v.GenericSchema, default: fallback } = entry as Partial<
      v.OptionalSchema<v.GenericSchema, unknown>
    >;
    if ("entries" in wrapped) return leavesOf(wrapped.entries as v.ObjectEntries, `${prefix}${name}.`);
    const path = prefix + name;
    const { help = "", flag, value, mode, below = {} } = v.getMetadata(wrapped) as Partial<OptionHelp>;
    // The command itself sets the mode. An object option with a flag is given as a file; the seed is the only one.
    const format = path === "mode" ? undefined : (formats[wrapped.type] ?? (flag === undefined ? undefined : "file"));
    return [{ path, help, fallback, flag, value, mode, format }, ...leavesOf(below, `${path}.`)];
  });
}

/** A hint for an unknown option: the most similar name on its level, or how to nest a dotted path. */
function nearestOption(path: string): string {
  if (allOptions.some((one) => one.path === path))
    return `; nest it: ${path.split(".").reduceRight((below, name) => `{"${name}":${below}}`, "…")}`;
  const level = path.slice(0, path.lastIndexOf(".") + 1);
  const beside = allOptions.filter((one) => one.path.startsWith(level));
  const names = beside.map((one) => one.path.slice(level.length).split(".", 1)[0] ?? "");
  return didYouMean(path.slice(level.length), names, level);
}

/** The environment variable that sets an option: `SVC_DEPLOYMENTS_CONCURRENCY`. */
export const variableOf = ({ path }: Pick<OptionInfo, "path">) =>
  `SVC_${path.replaceAll(/[A-Z]/g, "_$&").replaceAll(".", "_").toUpperCase()}`;
