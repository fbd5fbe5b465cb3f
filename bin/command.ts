import { type ArgsDef, defineCommand } from "citty";
import { strict } from "./arguments.ts";

/** What a command was given: its options by name, and in `_` the words that are none. */
export type Given = Readonly<Record<string, unknown>> & { readonly _: readonly string[] };

/** A command that refuses what it does not know. `more` lets it take any number of words. */
export const command = (
  name: string,
  description: string,
  args: ArgsDef,
  run: (args: Given) => void | Promise<void>,
  { more = false } = {},
) =>
  defineCommand({
    meta: { name, description },
    args,
    setup: ({ rawArgs }) => strict(rawArgs, args, { more }),
    run: ({ args }) => run(args),
  });

export const say = (text: string) => void process.stdout.write(`${text}\n`);

/** What asks a program to stop: Ctrl+C, a supervisor, the end of its terminal. */
export const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** For what goes on until it is stopped: that is as asked, so it is no failure. */
export function endAsAsked(): void {
  for (const signal of stopSignals) process.once(signal, () => process.exit(0));
}

/** For what is undone until its end: that it was stopped is told, and is a failure. */
export function endUndone(sentence: string): void {
  for (const signal of stopSignals)
    process.once(signal, () => {
      process.stderr.write(`\nsvc-server: ${sentence}\n`);
      process.exit(1);
    });
}

export const json: ArgsDef = { json: { type: "boolean", description: "Write JSON, for programs." } };

/** `1 user`, `2 users`: of a word that takes an s. */
export const counted = (count: number, many: string) => `${count} ${count === 1 ? many.replace(/s$/, "") : many}`;

/** Generations without their files, in words. */
export const lostOf = (lost: readonly string[]) =>
  `${lost.length === 1 ? "the file of 1 generation is" : `the files of ${lost.length} generations are`} missing or changed, such as that of ${lost[0]}`;

/** Columns as wide as their widest cell. What steers a terminal is not let through. */
export function table(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map((cell) => cell.replaceAll(/\p{Cc}/gu, "\ufffd")));
  const widths = rows.reduce<number[]>(
    (most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, [...cell].length)),
    [],
  );
  const padded = (cell: string, i: number) => cell + " ".repeat((widths[i] ?? 0) - [...cell].length);
  return rows.map((row) => row.map(padded).join("  ").trimEnd()).join("\n");
}
