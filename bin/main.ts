import { stripVTControlCharacters } from "node:util";
import { runCommand } from "citty";
import { didYouMean } from "../lib/kernel/text/did-you-mean.ts";
import { version } from "../lib/kernel/version.ts";
import { EndedWith, UsageError } from "./arguments.ts";
import { main } from "./commands.ts";
import type { Command, Listed } from "./define-command.ts";

interface FoundCommand {
  readonly command: Command;
  /** Its entry in its parent's help. */
  readonly listed: Listed | undefined;
  /** The words that name the command. */
  readonly path: readonly string[];
  readonly below: readonly string[];
}

/** Finds the command that the words name. It stops at the first unknown word. */
async function findCommand(words: readonly string[]): Promise<FoundCommand> {
  let command = main;
  let listed: Listed | undefined;
  const path: string[] = [];
  for (;;) {
    const { list = {} } = command;
    const word = words[path.length] ?? "";
    const found = Object.hasOwn(list, word) ? list[word] : undefined;
    if (!found) return { command, listed, path, below: Object.keys(list) };
    listed = found;
    command = typeof found.load === "function" ? await found.load() : found.load;
    path.push(word);
  }
}

async function help(words: readonly string[]): Promise<string> {
  const { command, listed, path, below } = await findCommand(words);
  const next = words[path.length] ?? "-";
  if (below.length > 0 && !next.startsWith("-")) throw await unknownCommand(words);
  const { commandHelp, mainHelp } = await import("./help.ts");
  const text = listed ? commandHelp(command, listed, path) : mainHelp();
  const { fieldHelp, operationHelp, operationList } = await import("./operation-help.ts");
  if (path[0] !== "call" && path[0] !== "users") {
    const { instrumentOf } = await import("./instruments.ts");
    return [text, ...fieldHelp(instrumentOf(path)?.fields ?? {})].join("\n");
  }
  if (next.startsWith("-")) return path[0] === "call" ? `${text}\n\n${operationList()}` : text;
  return operationHelp(path[0] === "call" ? next : `users.${next}`);
}

async function unknownCommand(words: readonly string[]): Promise<UsageError> {
  const { path, below } = await findCommand(words);
  const word = words[path.length];
  const choices = `; the ${below.length === 1 ? "command is" : "commands are"} ${below.map((name) => [...path, name].join(" ")).join(", ")}`;
  if (word === undefined || word.startsWith("-")) return new UsageError(`${path.join(" ")} needs a command${choices}`);
  const { documentedOperations } = await import("./call-fields.ts");
  const operation = documentedOperations().find(({ id }) => id === [...path, word].join("."));
  const near = operation
    ? `; write svc-server call ${operation.id}`
    : didYouMean(word, below, [...path, ""].join(" ")) || choices;
  return new UsageError(`no command is called ${[...path, word].join(" ")}${near}`);
}

const isUsage = (error: unknown) =>
  error instanceof UsageError ||
  ["BadOptions", "BadSeed"].includes((error as Error).name) ||
  /^E(ARG|_)/.test(String((error as { code?: unknown }).code ?? ""));

export async function run(given: readonly string[]): Promise<EndedWith["outcome"]> {
  const words = given[0] === "help" ? [...given.slice(1), "--help"] : given;
  // The words after `--` belong to another program's command.
  const end = words.indexOf("--");
  const ownWords = end < 0 ? words : words.slice(0, end);
  const [first] = words;
  if (words.length === 1 && (first === "-v" || first === "--version")) {
    process.stdout.write(`${version()}\n`);
    return { code: 0 };
  }
  if (first === "complete") {
    const { candidates } = await import("./completion.ts");
    process.stdout.write((await candidates(words.slice(2), main.list ?? {})).map((one) => `${one}\n`).join(""));
    return { code: 0 };
  }
  try {
    if (ownWords.includes("-h") || ownWords.includes("--help")) {
      process.stdout.write(`${await help(words)}\n`);
      return { code: 0 };
    }
    await runCommand(main, {
      rawArgs: first === undefined || first.startsWith("-") ? ["start", ...words] : [...words],
    });
    return { code: 0 };
  } catch (caught) {
    if (caught instanceof EndedWith) return caught.outcome;
    const isCommand = ["E_UNKNOWN_COMMAND", "E_NO_COMMAND"].includes(String((caught as { code?: unknown }).code));
    const { path } = await findCommand(words);
    const [, argument] = /^Missing required positional argument: (\w+)/.exec((caught as Error).message) ?? [];
    const error = isCommand
      ? await unknownCommand(words)
      : argument === undefined
        ? caught
        : new UsageError(`${path.join(" ")} needs the argument ${argument}`);
    const see = isUsage(error) ? `\nSee ${["svc-server", ...path, "--help"].join(" ")}.` : "";
    // The message must not contain a key that was mistyped as an argument.
    const message = stripVTControlCharacters((error as Error).message).replaceAll(/sk_live_\w+/g, "sk_live_…");
    const text = `svc-server: ${message}${see}\n`;
    return { code: isUsage(error) ? 2 : 1, message: text };
  }
}
