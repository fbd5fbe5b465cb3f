#!/usr/bin/env node
import { stripVTControlCharacters } from "node:util";
import { renderUsage, runCommand } from "citty";
import { version } from "../lib/kernel/version.ts";
import { Usage } from "./arguments.ts";
import { main } from "./commands.ts";

type Command = Parameters<typeof runCommand>[0];

/** The command that help is asked of, with those above it, for the line of its usage. */
async function named(words: readonly string[]): Promise<[Command, Command | undefined]> {
  let command = main as Command;
  let parent: Command | undefined;
  for (const word of words.filter((one) => !one.startsWith("-"))) {
    const subCommands = (await (command.subCommands as Record<string, unknown> | undefined)) ?? {};
    const found = (subCommands as Record<string, Command | (() => Promise<Command>)>)[word];
    if (!found) break;
    parent = command;
    command = typeof found === "function" ? await found() : found;
  }
  return [command, parent];
}

const isUsage = (error: unknown) =>
  error instanceof Usage ||
  ["BadOptions", "BadSeed"].includes((error as Error).name) ||
  /^E(ARG|_)/.test(String((error as { code?: unknown }).code ?? ""));

/** Exit codes: 0 stopped as asked, 1 failed, 2 wrong usage. */
async function run(words: string[]): Promise<number> {
  const [first] = words;
  if (words.length === 1 && (first === "-v" || first === "--version")) {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  if (first === "complete") {
    const { candidates } = await import("./completion.ts");
    const known = main.subCommands as Parameters<typeof candidates>[1];
    process.stdout.write((await candidates(words.slice(2), known)).map((one) => `${one}\n`).join(""));
    return 0;
  }
  try {
    if (words.includes("-h") || words.includes("--help")) {
      const usage = await renderUsage(...(await named(words)));
      process.stdout.write(`${process.stdout.isTTY ? usage : stripVTControlCharacters(usage)}\n`);
      return 0;
    }
    await runCommand(main, {
      rawArgs: first === undefined || first.startsWith("-") ? ["start", ...words] : words,
    });
    return 0;
  } catch (error) {
    const hint = isUsage(error) ? "\nSee svc-server --help." : "";
    process.stderr.write(`svc-server: ${stripVTControlCharacters((error as Error).message)}${hint}\n`);
    return isUsage(error) ? 2 : 1;
  }
}

const code = await run(process.argv.slice(2));
// A pipe takes what is long piece by piece: leaving before it has taken all would cut it off.
process.stdout.write("", () => process.exit(code));
