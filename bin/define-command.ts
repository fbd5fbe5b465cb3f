import { type ArgsDef, defineCommand } from "citty";
import { requireKnown, withRepeats } from "./arguments.ts";

/** A command's arguments: options by name, and the remaining words in `_`. */
export type Given = Readonly<Record<string, unknown>> & { readonly _: readonly string[] };

/** The option `--json` of all commands that print a result. */
export const json: ArgsDef = { json: { type: "boolean", description: "Print JSON, for programs." } };

/** Defines a command that refuses unknown options and surplus words. With `more` it accepts any number of words. */
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
    setup: ({ rawArgs }) => requireKnown(rawArgs, args, { more }),
    run: ({ args, rawArgs }) => run(withRepeats(args, rawArgs)),
  });
