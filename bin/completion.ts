import type { ArgsDef, CommandDef } from "citty";
import { UsageError } from "./arguments.ts";
import { documentedOperations, namesOf } from "./call-fields.ts";
import { command } from "./define-command.ts";
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
  "Print a completion script for a shell: source <(svc-server completion bash)",
  { shell: { type: "positional", description: "bash, zsh or fish." } },
  ({ shell }) => {
    const script = Object.hasOwn(scripts, String(shell)) ? scripts[String(shell)] : undefined;
    if (script === undefined) throw new UsageError(`the shell must be one of ${Object.keys(scripts).join(", ")}`);
    say(script);
  },
);

type Commands = Readonly<Record<string, CommandDef | (() => Promise<CommandDef>)>>;
const loadCommand = (one: Commands[string] | undefined) => (typeof one === "function" ? one() : one);

/** The completions of the last word. */
export async function candidates(words: readonly string[], commands: Commands): Promise<string[]> {
  const last = words.at(-1) ?? "";
  let args: ArgsDef = {};
  let next = commands;
  let id: string | undefined;
  for (const word of words.slice(0, -1)) {
    const found = await loadCommand(Object.hasOwn(next, word) ? next[word] : undefined);
    if (found) {
      args = ((await found.args) as ArgsDef) ?? {};
      next = ((await found.subCommands) ?? {}) as Commands;
    } else if (!word.startsWith("-")) id ??= word;
  }
  const flags = Object.entries(args)
    .filter(([, one]) => one.type !== "positional")
    .map(([name]) => `--${name}`);
  const all = [
    ...Object.keys(next),
    ...(last.startsWith("-") ? flags : []),
    ...(words[0] === "call" ? await fields(id) : []),
  ];
  return all.filter((one) => one.startsWith(last));
}

async function fields(id: string | undefined): Promise<string[]> {
  const operations = documentedOperations();
  if (id === undefined) return operations.map((one) => one.id);
  const operation = operations.find((one) => one.id === id);
  return operation ? namesOf(operation).map((name) => `${name}=`) : [];
}
