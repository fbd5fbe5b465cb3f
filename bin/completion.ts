import type { ArgsDef } from "citty";
import { catalog } from "../lib/features/events/catalog.ts";
import { roles } from "../lib/kernel/roles.ts";
import { UsageError } from "./arguments.ts";
import { documentedOperations, enumOf, type OperationInfo, partsOf } from "./call-fields.ts";
import { readProfiles } from "./connection.ts";
import { type Command, command, type Listing, word } from "./define-command.ts";
import { instrumentOf } from "./instruments.ts";
import { say } from "./output.ts";

const scripts: Readonly<Record<string, string>> = {
  bash: `_svc_server() {
  mapfile -t COMPREPLY < <(svc-server complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -o default -F _svc_server svc-server`,
  zsh: `#compdef svc-server
_svc_server() {
  local -a found; found=(\${(f)"$(svc-server complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if [[ \${found[1]} == *= ]]; then compadd -S '' -a found; else compadd -a found; fi
}
compdef _svc_server svc-server`,
  fish: `complete -c svc-server -f -a "(svc-server complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)"`,
};

export const completion = command(
  "completion",
  "Load it in the start file of the shell.",
  { shell: word("bash, zsh or fish.") },
  ({ shell }) => {
    const script = Object.hasOwn(scripts, String(shell)) ? scripts[String(shell)] : undefined;
    if (script === undefined) throw new UsageError(`the shell must be one of ${Object.keys(scripts).join(", ")}`);
    say(script);
  },
);

const loadCommand = async (list: Listing, name: string): Promise<Command | undefined> => {
  const load = Object.hasOwn(list, name) ? list[name]?.load : undefined;
  return typeof load === "function" ? load() : load;
};

/** The known values of flags. For other flags, shells complete file names. */
const flagValues: Readonly<Record<string, () => readonly string[]>> = {
  profile: () => Object.keys(readProfiles()),
  events: () => Object.keys(catalog),
  role: () => roles,
  seed: () => ["demo"],
};

/** Bash splits `name=value` into three words. Returns the joined words, and the prefix that completions must omit. */
function joined(words: readonly string[]): { words: string[]; before: string } {
  const whole: string[] = [];
  words.forEach((word, i) => {
    if (i > 0 && (word === "=" || words[i - 1] === "=")) whole.push((whole.pop() ?? "") + word);
    else whole.push(word);
  });
  const last = whole.at(-1) ?? "";
  return { words: whole, before: last === words.at(-1) ? "" : last.slice(0, last.indexOf("=") + 1) };
}

export async function candidates(given: readonly string[], commands: Listing): Promise<string[]> {
  const { words, before } = joined(given);
  // The words after -- are another program's command.
  if (words.slice(0, -1).includes("--")) return [];
  return (await completionsOf(words, commands))
    .filter((one) => one.startsWith(words.at(-1) ?? ""))
    .map((one) => one.slice(before.length));
}

async function completionsOf(words: readonly string[], commands: Listing): Promise<readonly string[]> {
  const last = words.at(-1) ?? "";
  let command = words[0]?.startsWith("-") ? await loadCommand(commands, "start") : undefined;
  let next = command ? {} : commands;
  const positionals: string[] = [];
  let flag: string | undefined;
  for (const word of words.slice(0, -1)) {
    const args = ((await command?.args) ?? {}) as ArgsDef;
    const isValue = flag !== undefined;
    flag = undefined;
    if (isValue) continue;
    const found = await loadCommand(next, word);
    if (found) {
      command = found;
      next = found.list ?? {};
    } else if (!word.startsWith("-")) positionals.push(word);
    else if (args[word.slice(2)]?.type === "string") flag = word.slice(2);
  }
  if (flag !== undefined) return valuesOf(flag);
  const inline = /^--([\w-]+)=/.exec(last)?.[1];
  if (inline !== undefined) return valuesOf(inline).map((value) => `--${inline}=${value}`);
  if (last.startsWith("-")) return flagsOf(((await command?.args) ?? {}) as ArgsDef);
  return [...Object.keys(next), ...wordsOf(words, positionals, last)];
}

const valuesOf = (flag: string) => (Object.hasOwn(flagValues, flag) ? (flagValues[flag]?.() ?? []) : []);

const flagsOf = (args: ArgsDef) =>
  Object.entries(args).flatMap(([name, { type }]) => (type === "positional" ? [] : [`--${name}`]));

/** The words, apart from flags, that a command accepts next. */
function wordsOf([command, verb = ""]: readonly string[], [id]: readonly string[], last: string): readonly string[] {
  const instrument = command === undefined ? undefined : instrumentOf([command, verb]);
  if (instrument) return fieldsOf(instrument.fields, "", last);
  if (command === "trigger") return id === undefined ? Object.keys(catalog) : [];
  if (command === "completion") return id === undefined ? Object.keys(scripts) : [];
  if (command !== "call" && command !== "users") return [];
  const prefix = command === "users" ? "users." : "";
  const operations = documentedOperations();
  if (id === undefined)
    return operations.flatMap((one) => (one.id.startsWith(prefix) ? [one.id.slice(prefix.length)] : []));
  const operation = operations.find((one) => one.id === prefix + id);
  return operation ? fieldsOf(operation.fields, "", last) : [];
}

/** The completions of fields, including allowed values from fixed lists. Nested fields are written `source.repo=`. */
function fieldsOf(schema: OperationInfo["fields"], above: string, last: string): string[] {
  const parts = partsOf(schema);
  return parts.names.flatMap((name) => {
    const place = above + name;
    const part = parts.of(name) ?? {};
    if (partsOf(part).names.length > 0) return fieldsOf(part, `${place}.`, last);
    return last.startsWith(`${place}=`) ? enumOf(part).map((word) => `${place}=${word}`) : [`${place}=`];
  });
}
