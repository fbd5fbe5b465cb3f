import type { ArgsDef } from "citty";
import { allOptions, BadOptions, parseOptions, type Settings, variableOf } from "../lib/config/parse-options.ts";
import type { Options } from "../lib/index.ts";
import { nearestName } from "../lib/kernel/text/did-you-mean.ts";
import { refusalOf } from "../lib/kernel/text/refused-ports.ts";
import { brokenOption, fromEnvironment, parseWhole, readJson, settingsOf, UsageError } from "./arguments.ts";
import { option } from "./define-command.ts";

/** Server options that createService() does not have: the listen address and the configuration file. */
export const listenArgs: ArgsDef = {
  port: option("The port to listen on; 0 picks a free one (7400).", "N"),
  host: option("The address to listen on (127.0.0.1).", "ADDRESS"),
  config: option("A JSON file with the options of createService(), and with port and host. Flags override it.", "FILE"),
};

const defaults = {
  dev: { mode: "dev", logLevel: "warn" },
  start: { mode: "start", database: "./svc-data", logLevel: "info" },
} as const satisfies Record<string, Options>;

export type Mode = keyof typeof defaults;

export interface Configuration {
  readonly options: Options;
  readonly port: number;
  readonly host: string;
  /** Warnings about variables that have no effect. */
  readonly notes: readonly string[];
  /** The parsed options. An error names the flag, variable or file that set the wrong one. */
  settings(): Settings;
  explainedError(error: unknown): unknown;
}

type Tree = Record<string, unknown>;

/**
 * Merges the options: flags override the environment, which overrides the file. parseOptions() validates the result.
 */
export function configuration(mode: Mode, args: Readonly<Record<string, unknown>>): Configuration {
  const given = (name: string) => {
    const variable = `SVC_${name.toUpperCase()}`;
    const isFlag = args[name] !== undefined;
    const text = isFlag ? String(args[name]) : fromEnvironment(variable);
    return { source: isFlag ? `option --${name}` : variable, text };
  };
  const { source, text } = given("port");
  const port = parseWhole(source, text, 65_535);
  const path = given("config").text;
  const { port: filePort, host: fileHost, ...file } = path === undefined ? {} : fileOptions(path);
  if (file["mode"] !== undefined && file["mode"] !== mode)
    throw new UsageError(`${path}: the command svc-server ${mode} sets the option mode; leave it out`);
  const options: Tree = { ...defaults[mode], ...file, mode };
  const settings = settingsOf(args);
  for (const { path, value } of settings) put(options, path.split("."), value);
  const listens = port ?? filePort ?? 7400;
  const ports = [refusalOf(listens, "--port"), refusalOf(Number((options as Options).apps?.port), "--apps-port")];
  const explainedError = (error: unknown) => {
    if (!(error instanceof BadOptions)) return error;
    const setting = settings.find((one) => `${error.path}.`.startsWith(`${one.path}.`));
    if (!setting) return path === undefined ? error : new UsageError(`${path}: ${error.message}`);
    return brokenOption(setting.source, error.path.slice(setting.path.length + 1), error.rule);
  };
  return {
    options: options as Options,
    port: listens,
    host: given("host").text ?? fileHost ?? "127.0.0.1",
    notes: [
      ...misspelledVariables(),
      ...ports.filter((note) => note !== undefined),
      ...(mode === "start" && given("seed").text === "demo" ? [demoSeed] : []),
    ],
    settings() {
      try {
        return parseOptions(options);
      } catch (error) {
        throw explainedError(error);
      }
    },
    explainedError,
  };
}

const demoSeed =
  "the API keys of the seed demo are public: anyone can use them; start a new database with a seed of your own";

/** Variables that other code reads; they set no options. */
const otherVariables = ["CONFIG", "PORT", "HOST", "JSON", "URL", "API_KEY", "PROFILE", "WEBHOOK_SECRET"];

/** Warnings about variables with names similar to a known one. Other SVC_ variables may belong to another program. */
function misspelledVariables(): string[] {
  const known = [...allOptions.map(variableOf), ...otherVariables.map((name) => `SVC_${name}`)];
  const set = Object.keys(process.env).filter((name) => name.startsWith("SVC_") && !known.includes(name));
  return set.flatMap((name) => {
    const near = nearestName(name, known);
    return near === undefined ? [] : [`the variable ${name} has no effect; did you mean ${near}?`];
  });
}

function put(options: Tree, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    options[name] = value;
    return;
  }
  // A switch that is `true` can be replaced by an object of options.
  const below = options[name] === true ? {} : (options[name] ?? {});
  // The file has another value where an object belongs. parseOptions() refuses it.
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
