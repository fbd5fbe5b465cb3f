import type { ArgsDef, CommandDef } from "citty";
import { requireKnown, withRepeats } from "./arguments.ts";

/** A command's arguments: options by name, and the remaining words in `_`. */
export type Given = Readonly<Record<string, unknown>> & { readonly _: readonly string[] };

export const option = (description: string, valueHint: string) => ({ type: "string", description, valueHint }) as const;

export const flag = (description: string) => ({ type: "boolean", description }) as const;

export const word = (description: string) => ({ type: "positional", description }) as const;
export const optionalWord = (description: string) => ({ type: "positional", description, required: false }) as const;

export const json: ArgsDef = { json: flag("Print JSON, for programs.") };

/** A command's entry in its parent's help. */
export interface Listed {
  /** The purpose of the command, without a full stop. With the name, a line of at most 72 characters. */
  readonly summary: string;
  /** A command line that works as written. Words in capitals, such as ID, are placeholders. */
  readonly example: string;
  readonly load: Command | (() => Promise<Command>);
}
export type Listing = Readonly<Record<string, Listed>>;

export const listed = (summary: string, example: string, load: Listed["load"]): Listed => ({
  summary,
  example: `svc-server ${example}`,
  load,
});

/** A command of citty, with its subcommands. */
export interface Command extends Omit<CommandDef, "meta" | "args"> {
  /** `description` follows the summary in the command's help. */
  readonly meta: { readonly name: string; readonly description: string };
  readonly args?: ArgsDef;
  readonly list?: Listing;
}

/** Refuses unknown options and surplus words. With `anyWords`, the command accepts any number of words. */
export const command = (
  name: string,
  more: string,
  args: ArgsDef,
  run: (args: Given) => void | Promise<void>,
  { anyWords = false } = {},
): Command => ({
  meta: { name, description: more },
  args,
  setup: ({ rawArgs }) => requireKnown(rawArgs, args, { more: anyWords }),
  run: ({ args, rawArgs }) => run(withRepeats(args, rawArgs)),
});

/** Defines a command that has only subcommands. */
export const parent = (name: string, more: string, list: Listing): Command => ({
  meta: { name, description: more },
  subCommands: Object.fromEntries(Object.entries(list).map(([word, { load }]) => [word, load])),
  list,
});
