import type { ArgsDef } from "citty";
import { allOptions, BadOptions, variableOf } from "../lib/config/parse-options.ts";
import type { Options } from "../lib/index.ts";
import { nearest } from "../lib/kernel/did-you-mean.ts";
import { fromEnvironment, parseWhole, readJson, settingsOf, UsageError } from "./arguments.ts";

/** Where a server listens, and the file that its options may come from. */
export const listenArgs: ArgsDef = {
  port: { type: "string", description: "The port to listen on; 0 picks a free one (7400).", valueHint: "N" },
  host: { type: "string", description: "The address to listen on (127.0.0.1).", valueHint: "ADDRESS" },
  config: {
    type: "string",
    description: "A JSON file of options, named as in createService(), with port and host. Flags win.",
    valueHint: "FILE",
  },
};

/** What each command takes when nothing else is said. */
const defaults = {
  dev: { mode: "dev", logLevel: "warn" },
  start: { mode: "start", database: "./svc-data", logLevel: "info" },
} as const satisfies Record<string, Options>;

export type Mode = keyof typeof defaults;

export interface Configuration {
  readonly options: Options;
  readonly port: number;
  readonly host: string;
  /** What was given, and counts for nothing. */
  readonly notes: readonly string[];
  /** The same refusal, which names what set the option that is wrong. */
  explained(error: unknown): unknown;
}

type Tree = Record<string, unknown>;

/** Flags win over the environment, and it over the file. The schema of the options judges what comes of it. */
export function configuration(mode: Mode, args: Readonly<Record<string, unknown>>): Configuration {
  const given = (name: string) => {
    const variable = `SVC_${name.toUpperCase()}`;
    const isFlag = args[name] !== undefined;
    const text = isFlag ? String(args[name]) : fromEnvironment(variable);
    return { by: isFlag ? `option --${name}` : variable, text };
  };
  const { by, text } = given("port");
  const port = parseWhole(by, text, 65_535);
  const path = given("config").text;
  const { port: filePort, host: fileHost, ...file } = path === undefined ? {} : fileOptions(path);
  if (file["mode"] !== undefined && file["mode"] !== mode)
    throw new UsageError(`${path}: option mode is said by the command, which is svc-server ${mode}; leave it out`);
  const options: Tree = { ...defaults[mode], ...file, mode };
  const settings = settingsOf(args);
  for (const { path, value } of settings) put(options, path.split("."), value);
  return {
    options: options as Options,
    port: port ?? filePort ?? 7400,
    host: given("host").text ?? fileHost ?? "127.0.0.1",
    notes: misspelledVariables(),
    explained(error) {
      if (!(error instanceof BadOptions)) return error;
      const setting = settings.find((one) => `${error.path}.`.startsWith(`${one.path}.`));
      if (!setting) return path === undefined ? error : new UsageError(`${path}: ${error.message}`);
      const within = error.path.slice(setting.path.length + 1);
      return new UsageError(`${setting.by}${within && ` (${within})`} ${error.rule}`);
    },
  };
}

/** The other variables that are read somewhere. */
const otherVariables = ["CONFIG", "PORT", "HOST", "JSON", "URL", "API_KEY", "PROFILE", "WEBHOOK_SECRET"];

/** Variables that nobody reads, but are nearly called like one that is. Any other may be somebody else's. */
function misspelledVariables(): string[] {
  const known = [...allOptions.map(variableOf), ...otherVariables.map((name) => `SVC_${name}`)];
  const set = Object.keys(process.env).filter((name) => name.startsWith("SVC_") && !known.includes(name));
  return set.flatMap((name) => {
    const near = nearestName(name, known);
    return near === undefined ? [] : [`the variable ${name} counts for nothing; did you mean ${near}?`];
  });
}

function put(options: Tree, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    options[name] = value;
    return;
  }
  const below = options[name] ?? {};
  // What a file holds in the place of options stays there, to be refused.
  if (typeof below !== "object") return;
  options[name] = { ...below };
  put(options[name] as Tree, rest, value);
}

function fileOptions(path: string): Tree & { readonly port?: number; readonly host?: string } {
  const given = readJson(path, "configuration");
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new UsageError(`the configuration file ${path} must hold a JSON object of options`);
  const { port, host } = given as Tree;
  if (port !== undefined && !(Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535))
    throw new UsageError(`${path}: option port must be a whole number from 0 to 65535`);
  if (host !== undefined && typeof host !== "string") throw new UsageError(`${path}: option host must be a string`);
  return given as Tree;
}
