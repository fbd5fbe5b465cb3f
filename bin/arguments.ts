import { readFileSync } from "node:fs";
import type { ArgsDef } from "citty";
import { allOptions, type OptionInfo, variableOf } from "../lib/config/parse-options.ts";
import { hint } from "../lib/kernel/did-you-mean.ts";

/** Wrong usage: exit code 2. */
export class UsageError extends Error {}

const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** citty passes over what it does not know: unknown options, surplus words, missing values. Here they are errors. */
export function requireKnown(words: readonly string[], args: ArgsDef, { more = false } = {}): void {
  const known = new Map<string, boolean>([
    ["help", false],
    ["h", false],
  ]);
  let places = 0;
  for (const [name, definition] of Object.entries(args)) {
    if (definition.type === "positional") places += 1;
    else for (const one of [name, kebab(name)]) known.set(one, definition.type === "string");
  }
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    const [, option, inline] = /^--?([^=]+)(=.*)?$/s.exec(word) ?? [];
    if (option === undefined) {
      if (places-- <= 0 && !more)
        throw new UsageError(
          word.startsWith("sk_live_")
            ? "a key is never an argument, which every user of this machine could read; give it on stdin: svc-server login < key.txt"
            : `unexpected word "${word}"`,
        );
      continue;
    }
    const takesValue = known.get(option);
    if (takesValue === undefined)
      throw new UsageError(`unknown option ${word.split("=", 1)[0]}${hint(option, [...known.keys()], "--")}`);
    if (!takesValue && inline !== undefined) throw new UsageError(`option --${option} takes no value`);
    if (!takesValue) continue;
    const value = inline?.slice(1) ?? words[++i];
    if (value === undefined || value === "" || (inline === undefined && value.startsWith("--")))
      throw new UsageError(`option --${option} needs a value`);
  }
}

/** The flags that the options schema names, as citty takes them. */
export const optionArgs: ArgsDef = Object.fromEntries(
  allOptions.flatMap(({ flag, help, value }) =>
    flag === undefined
      ? []
      : [
          value === undefined
            ? [flag, { type: "boolean", description: help }]
            : [flag, { type: "string", description: help, valueHint: value }],
        ],
  ),
);

/** What of the environment counts: an empty variable is none. */
export const fromEnvironment = (variable: string): string | undefined => process.env[variable] || undefined;

/** The database of the commands that look after one. */
export const databaseOf = (args: Readonly<Record<string, unknown>>): string =>
  String(args["database"] ?? fromEnvironment("SVC_DATABASE") ?? "./svc-data");

export function parseSwitch(text: string | undefined, variable: string): boolean | undefined {
  if (text !== undefined && text !== "true" && text !== "false")
    throw new UsageError(`${variable} must be true or false`);
  return text === undefined ? undefined : text === "true";
}

/** The value of an option that was given as text. The schema judges it, so what is no number stays text. */
const parsers: Record<NonNullable<OptionInfo["format"]>, (text: string, by: string) => unknown> = {
  text: (text) => text,
  number: (text) => (/^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text),
  switch: parseSwitch,
  list: (text) => text.split(",").map((one) => one.trim()),
  file: (text) => readJson(text, "seed"),
  json: parseJson,
};

/** An option that somebody set, and by what: `option --rate-limit`, `SVC_RATE_LIMIT`. */
export interface Setting {
  readonly path: string;
  readonly value: unknown;
  readonly by: string;
}

/** The options that flags set, else the environment, in the types of the schema. */
export function settingsOf(args: Readonly<Record<string, unknown>>): Setting[] {
  return allOptions.flatMap((option) => {
    const { path, flag = "", format } = option;
    if (format === undefined) return [];
    const variable = variableOf(option);
    const isFlag = args[flag] !== undefined;
    const by = isFlag ? `option --${flag}` : variable;
    const given = isFlag ? args[flag] : fromEnvironment(variable);
    if (given === undefined) return [];
    return [{ path, by, value: typeof given === "string" ? parsers[format](given, by) : given }];
  });
}

/** A JSON file, or a sentence that names the place where it is wrong. */
export function readJson(path: string, what: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new UsageError(`the ${what} file ${path} cannot be read: ${(error as Error).message}`);
  }
  return parseJson(text, `the ${what} file ${path}`);
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const lines = text.slice(0, syntaxErrorAt(text)).split("\n");
    throw new UsageError(`${what} is not JSON: see line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`);
  }
}

/** Where JSON goes wrong. Node tells the position of some faults only, so it is searched: the first prefix that no end could mend. */
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

/** A whole number of a flag or a variable. */
export function parseWhole(by: string, text: string | undefined, most: number, least = 0): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text) || Number(text) > most || Number(text) < least)
    throw new UsageError(`${by} must be a whole number from ${least} to ${most}`);
  return Number(text);
}
