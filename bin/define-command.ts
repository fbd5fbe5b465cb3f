import { type ArgsDef, defineCommand } from "citty";
import { requireKnown, withRepeats } from "./arguments.ts";

/** The arguments of a command: its options by name, and in `_` the words that are no options. */
export type Given = Readonly<Record<string, unknown>> & { readonly _: readonly string[] };

/** The option `--json`, of every command that prints a result. */
export const json: ArgsDef = { json: { type: "boolean", description: "Print JSON, for programs." } };

/** A command that refuses unknown options and surplus words. With `more` it takes any number of words. */
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
