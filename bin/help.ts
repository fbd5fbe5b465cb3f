import type { ArgsDef } from "citty";
import { version } from "../lib/kernel/version.ts";
import { groups } from "./commands.ts";
import type { Command, Listed, Listing } from "./define-command.ts";
import { styled, wrapped } from "./output.ts";

const width = 80;
/** The widest column of names. A longer name gets a separate line. */
const widestName = 22;

type Row = readonly [name: string, text: string];

function columns(rows: readonly Row[], size = Math.max(0, ...rows.map(([name]) => name.length))): string[] {
  const wide = Math.min(size, widestName);
  return rows.flatMap(([name, text]) => {
    const lines = wrapped(text, width - wide - 4);
    const beside = name.length > wide ? "" : (lines.shift() ?? "");
    const first = `  ${styled("cyan", name)}${" ".repeat(Math.max(0, wide - name.length))}  ${beside}`.trimEnd();
    return [first, ...lines.map((line) => `${" ".repeat(wide + 4)}${line}`)];
  });
}

const part = (heading: string, lines: readonly string[]): string[] =>
  lines.length > 0 ? ["", styled("bold", heading), "", ...lines] : [];

const rowsOf = (list: Listing): Row[] => Object.entries(list).map(([name, { summary }]) => [name, summary]);

const usage = (words: string) => `${styled("bold", "USAGE")} ${words}`;

/** The text of `svc-server --help`: a line for each command, in groups. */
export function mainHelp(): string {
  const size = Math.max(...Object.values(groups).flatMap((list) => Object.keys(list).map(({ length }) => length)));
  return [
    `${styled("bold", "svc-server")} ${version()}: a deployment-and-generation service in one process`,
    "",
    usage("svc-server COMMAND [OPTIONS]"),
    ...Object.entries(groups).flatMap(([name, list]) => ["", styled("bold", name), ...columns(rowsOf(list), size)]),
    "",
    "svc-server COMMAND --help explains a command, with an example.",
  ].join("\n");
}

function argumentRows(args: ArgsDef, isPositional: boolean): Row[] {
  return Object.entries(args).flatMap(([name, { type, description = "", valueHint }]): Row[] => {
    if ((type === "positional") !== isPositional) return [];
    if (isPositional) return [[name.toUpperCase(), description]];
    return [[`--${name}${type === "string" ? `=${valueHint ?? "VALUE"}` : ""}`, description]];
  });
}

/** The text of `svc-server COMMAND --help`. The second parameter is the command's entry in its parent's help. */
export function commandHelp(
  { meta: { description: more }, args = {}, list = {} }: Command,
  { summary, example }: Listed,
  path: readonly string[],
): string {
  const options = argumentRows(args, false);
  const words = Object.entries(args).flatMap(([name, { type, required }]) =>
    type === "positional" ? [required === false ? `[${name.toUpperCase()}]` : name.toUpperCase()] : [],
  );
  if (Object.keys(list).length > 0) words.push("COMMAND");
  if (options.length > 0) words.push("[OPTIONS]");
  return [
    ...wrapped(`${summary}. ${more}`.trim(), width),
    "",
    usage(["svc-server", ...path, ...words].join(" ")),
    ...part("EXAMPLE", [`  ${example}`]),
    ...part("COMMANDS", columns(rowsOf(list))),
    ...part("ARGUMENTS", columns(argumentRows(args, true))),
    ...part("OPTIONS", columns(options)),
  ].join("\n");
}
