import type { ArgsDef } from "citty";
import { allOptions, type OptionInfo, variableOf } from "../lib/config/parse-options.ts";
import { maxLevels } from "../lib/kernel/limits.ts";
import { isTooDeep } from "../lib/kernel/size-limits.ts";
import { didYouMean } from "../lib/kernel/text/did-you-mean.ts";
import { pathOf, readText } from "../lib/kernel/text/paths.ts";
import { packageFile } from "../lib/kernel/version.ts";
import { databaseRule, isOtherUrl, isPostgres, withoutPassword } from "../lib/store/database-url.ts";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

/** Ends a command with an exit code. */
export class EndedWith extends Error {
  readonly outcome: {
    /**
     * 0 for success or a requested stop, 1 for a failure, 2 for wrong usage. `exec` uses the exit code of its command.
     */
    readonly code: number;
    readonly message?: string;
  };

  constructor(code: number, message?: string) {
    super(message ?? `ended with ${code}`);
    this.outcome = message === undefined ? { code } : { code, message: `svc-server: ${message}\n` };
  }
}

const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Refuses unknown options, surplus words and missing values. citty would ignore them. */
export function requireKnown(words: readonly string[], args: ArgsDef, { more = false } = {}): void {
  const known = new Map<string, boolean>([
    ["help", false],
    ["h", false],
  ]);
  let positionals = 0;
  for (const [name, definition] of Object.entries(args)) {
    if (definition.type === "positional") positionals += 1;
    else for (const one of [name, kebab(name)]) known.set(one, definition.type === "string");
  }
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    const [, option, inline] = /^--?([^=]+)(=.*)?$/s.exec(word) ?? [];
    if (option === undefined) {
      if (positionals-- <= 0 && !more)
        throw new UsageError(
          word.startsWith("sk_live_")
            ? "a key is never an argument, because every user of this machine can read arguments; give it on stdin: svc-server login < key.txt"
            : `unexpected word "${word}"`,
        );
      continue;
    }
    const takesValue = known.get(option);
    if (takesValue === undefined) throw unknownOption(word, option, [...known.keys()]);
    if (!takesValue && inline !== undefined) throw new UsageError(`option --${option} takes no value`);
    if (!takesValue) continue;
    const value = inline?.slice(1) ?? words[++i];
    if (value === undefined || value === "" || (inline === undefined && value.startsWith("--")))
      throw new UsageError(`option --${option} needs a value`);
  }
}

function unknownOption(word: string, option: string, known: readonly string[]): UsageError {
  if (/^-\d/.test(word)) return new UsageError(`"${word}" must not be negative`);
  const mode = allOptions.find(({ flag }) => flag === option)?.mode;
  if (mode !== undefined) return new UsageError(`option --${option} is for svc-server ${mode}`);
  return new UsageError(`unknown option ${word.split("=", 1)[0]}${didYouMean(option, known, "--")}`);
}

const defaultOfStart = / The default of `svc-server start` is `[^`]+`\./;

/** The flags of a mode's options, in citty's format. */
export const optionArgs = (mode: "dev" | "start"): ArgsDef =>
  Object.fromEntries(
    allOptions.flatMap(({ flag, help, value: valueHint, mode: only = mode }) => {
      if (flag === undefined || only !== mode) return [];
      // Help texts name each option's mode for the tables of all options. Here the command implies it.
      const description = help.replace(" (`dev`)", "").replace(mode === "dev" ? defaultOfStart : "", "");
      return [
        [flag, valueHint === undefined ? { type: "boolean", description } : { type: "string", description, valueHint }],
      ];
    }),
  );

/** citty keeps only the last value of a repeated flag. For list options, this restores all values. */
export function withRepeats<T extends Readonly<Record<string, unknown>>>(given: T, raw: readonly string[]): T {
  const end = raw.indexOf("--");
  const words = end < 0 ? raw : raw.slice(0, end);
  const repeated = allOptions.flatMap(({ flag, format }) => {
    if (flag === undefined || format !== "list" || given[flag] === undefined) return [];
    const values = words.flatMap((word, i) => {
      if (word === `--${flag}`) return words.slice(i + 1, i + 2);
      return word.startsWith(`--${flag}=`) ? [word.slice(flag.length + 3)] : [];
    });
    return values.length > 1 ? [[flag, values.join(",")] as const] : [];
  });
  return { ...given, ...Object.fromEntries(repeated) };
}

/** The error for an option that breaks a rule. `path` leads to the wrong part of the value; `""` is the whole value. */
export function brokenOption(source: string, path: string, rule: string): UsageError {
  const part = /^\d+$/.test(path) ? `entry ${Number(path) + 1}` : path;
  return new UsageError(`${source}${part && ` (${part})`} ${rule}`);
}

/** An empty variable counts as unset. */
export const fromEnvironment = (variable: string): string | undefined => process.env[variable] || undefined;

export const pathIn = (args: Readonly<Record<string, unknown>>, name: string): string | undefined =>
  args[name] === undefined ? undefined : pathOf(String(args[name]));

/** The database of a command: --database, else SVC_DATABASE, else ./svc-data. */
export const databaseOf = (args: Readonly<Record<string, unknown>>): string =>
  requireDatabase("the database", String(args["database"] ?? fromEnvironment("SVC_DATABASE") ?? "./svc-data"));

/** The path or URL of a database. Refuses the URL of an unsupported one, without repeating it. */
export function requireDatabase(name: string, given: string): string {
  const database = pathOf(given);
  if (isOtherUrl(database)) throw new UsageError(`${name} ${databaseRule}`);
  return database;
}

/** The database of a command that needs a file. `instead` names the command for PostgreSQL. */
export function databaseFileOf(args: Readonly<Record<string, unknown>>, instead: (url: string) => string): string {
  const database = databaseOf(args);
  if (!isPostgres(database)) return database;
  throw new UsageError(
    `this command works only on a database file; for PostgreSQL, use: ${instead(withoutPassword(database))}`,
  );
}

export function parseSwitch(text: string | undefined, variable: string): boolean | undefined {
  if (text !== undefined && text !== "true" && text !== "false")
    throw new UsageError(`${variable} must be true or false`);
  return text === undefined ? undefined : text === "true";
}

/** The entries of a list in a flag or a variable. Spaces around commas do not count. */
export function listIn(text: string): string[] {
  return text.split(",").map((one) => one.trim());
}

/** Parses an option's text by its format. Text that is not a number stays text, so the schema refuses it. */
const parsers: Record<NonNullable<OptionInfo["format"]>, (text: string, source: string) => unknown> = {
  text: (text) => text,
  number: (text) => (/^(?!-0*(\.0*)?$)-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text),
  switch: parseSwitch,
  list: listIn,
  file: readSeed,
  json: parseJson,
};

/** A given option and its source: `option --rate-limit` or `SVC_RATE_LIMIT`. */
export interface Setting {
  readonly path: string;
  readonly value: unknown;
  readonly source: string;
}

/** The options from flags, else from the environment, converted to the schema's types. */
export function settingsOf(args: Readonly<Record<string, unknown>>): Setting[] {
  return allOptions.flatMap((option) => {
    const { path, flag = "", format } = option;
    if (format === undefined) return [];
    const variable = variableOf(option);
    // citty parses `--no-dashboard` as `dashboard: false`.
    const value = flag.startsWith("no-") ? args[flag.slice("no-".length)] : args[flag];
    const isFlag = value !== undefined;
    const source = isFlag ? `option --${flag}` : variable;
    const given = isFlag ? value : fromEnvironment(variable);
    if (given === undefined) return [];
    return [{ path, source, value: typeof given === "string" ? parsers[format](given, source) : given }];
  });
}

/** Reads a seed: a file, or `demo` for the demo organization of this package. */
export function readSeed(path: string): unknown {
  return path === "demo" ? JSON.parse(packageFile("fixtures/demo.json")) : readJson(path, "seed");
}

/** Reads a JSON file. The error names the line and column where it is wrong. */
export function readJson(given: string, what: string): unknown {
  const path = pathOf(given);
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    throw new UsageError(`the ${what} file ${path} cannot be read: ${(error as Error).message}`);
  }
  return parseJson(text, `the ${what} file ${path}`);
}

/** Returns a JSON value. Refuses one that is nested too deeply for a recursive program. */
export function refuseDeep<T>(value: T, what: string): T {
  if (isTooDeep(value)) throw new UsageError(`${what} must not be nested deeper than ${maxLevels} levels`);
  return value;
}

function parseJson(text: string, what: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const lines = text.slice(0, syntaxErrorAt(text)).split("\n");
    throw new UsageError(
      `${what} is not valid JSON: see line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`,
    );
  }
  return refuseDeep(value, what);
}

/**
 * The position of the first syntax error. Node reports it only for some errors, so this searches for the shortest
 * prefix that no continuation can make valid.
 */
function syntaxErrorAt(text: string): number {
  const broken = (length: number) => {
    try {
      JSON.parse(text.slice(0, length));
      return false;
    } catch (error) {
      const { message } = error as Error;
      const at = /position (\d+)/.exec(message)?.[1];
      return at === undefined ? !message.includes("end of JSON input") : Number(at) < length;
    }
  };
  let whole = 0;
  let wrong = text.length + 1;
  while (wrong - whole > 1) {
    const middle = Math.floor((whole + wrong) / 2);
    if (middle <= text.length && broken(middle)) wrong = middle;
    else whole = middle;
  }
  return wrong - 1;
}

export function parseWhole(source: string, text: string | undefined, max: number, min = 0): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text) || Number(text) > max || Number(text) < min)
    throw new UsageError(`${source} must be a whole number from ${min} to ${max}`);
  return Number(text);
}
