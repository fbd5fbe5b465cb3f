import { readFileSync } from "node:fs";
import type { ArgsDef } from "citty";
import { flags } from "../lib/options.ts";
import { hint } from "./nearest.ts";

/** Wrong usage: exit code 2. */
export class Usage extends Error {}

const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** citty passes over what it does not know: unknown options, surplus words, missing values. Here they are errors. */
export function strict(words: readonly string[], args: ArgsDef, { more = false } = {}): void {
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
      if (places-- <= 0 && !more) throw new Usage(`unexpected word "${word}"`);
      continue;
    }
    const takesValue = known.get(option);
    if (takesValue === undefined)
      throw new Usage(`unknown option ${word.split("=", 1)[0]}${hint(option, [...known.keys()], "--")}`);
    if (!takesValue && inline !== undefined) throw new Usage(`option --${option} takes no value`);
    if (!takesValue) continue;
    const value = inline?.slice(1) ?? words[++i];
    if (value === undefined || value === "" || (inline === undefined && value.startsWith("--")))
      throw new Usage(`option --${option} needs a value`);
  }
}

/** The flags that the options schema names, as citty takes them. */
export const optionArgs: ArgsDef = Object.fromEntries(
  flags.map(({ flag, help, value }) => [
    flag,
    value === undefined
      ? { type: "boolean", description: help }
      : { type: "string", description: help, valueHint: value },
  ]),
);

/** Flags that are set by the environment: `--rate-limit` is `SVC_RATE_LIMIT`. An empty one counts as none. */
export function fromEnvironment(args: ArgsDef): Record<string, unknown> {
  const set: Record<string, unknown> = {};
  for (const [name, { type }] of Object.entries(args)) {
    const variable = `SVC_${name.toUpperCase().replaceAll("-", "_")}`;
    const text = process.env[variable];
    if (!text) continue;
    if (type === "boolean" && !/^(true|false)$/.test(text)) throw new Usage(`${variable} must be true or false`);
    set[name] = type === "boolean" ? text === "true" : text;
  }
  return set;
}

const readers: Record<string, (text: string) => unknown> = {
  rateLimit: (text) => (/^\d{1,10}$/.test(text) ? Number(text) : text),
  hosts: (text) => text.split(",").map((one) => one.trim()),
  seed: (text) => readJson(text, "seed"),
};

/** The options that flags set, in the types of the schema, which judges them. */
export function optionsOf(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const { key, flag } of flags) {
    const given = args[flag];
    if (given !== undefined) options[key] = typeof given === "string" ? (readers[key]?.(given) ?? given) : given;
  }
  return options;
}

/** A JSON file, or a sentence that names the place where it is wrong. */
export function readJson(path: string, what: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new Usage(`the ${what} file ${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    const lines = text.slice(0, faultOf(text)).split("\n");
    throw new Usage(
      `the ${what} file ${path} is not JSON: see line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`,
    );
  }
}

/** Where JSON goes wrong. Node tells the position of some faults only, so it is searched: the first prefix that no end could mend. */
function faultOf(text: string): number {
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

/** A whole number of a flag. */
export function numberOf(name: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text) || Number(text) > most)
    throw new Usage(`option --${name} must be a whole number from 0 to ${most}`);
  return Number(text);
}
