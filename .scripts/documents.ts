import { readFileSync } from "node:fs";
import type { CommandDef, Resolvable } from "citty";
import { main } from "../bin/commands.ts";
import { allOptions, variableOf } from "../lib/config/parse-options.ts";
import { seed } from "../lib/config/seed.ts";
import { catalog } from "../lib/events/catalog.ts";
import { openapi } from "../lib/openapi/document.ts";
import { jsonSchema } from "../lib/openapi/json-schema.ts";
import { operations } from "../lib/operations.ts";
import { pages } from "./pages.ts";

/** Generated from the code, so that it cannot rot: the JSON files of schema/, and the marked parts of the pages. */
export interface Document {
  readonly path: string;
  readonly text: string;
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const optionRows = () =>
  allOptions.map(({ path, help, fallback, flag, format }) => [
    `\`${path}\``,
    flag === undefined ? "" : `\`--${flag}\``,
    format === undefined ? "" : `\`${variableOf({ path })}\``,
    fallback === undefined ? "" : `\`${JSON.stringify(fallback)}\``,
    help,
  ]);

/** A state diagram in words: one line a move. */
function moves(machine: Machine<string, string>): string {
  return table(
    ["move", "from", "to", "event"],
    Object.entries(machine.moves).map(([name, { from, to, event }]) => [
      name,
      from.join(", "),
      to,
      event ? `\`${event}\`` : "none",
    ]),
  );
}

/** `resolution`: 512, 1K, 2K */
function inputsOf({ input }: Model): string {
  const { properties, required } = jsonSchema(input) as {
    properties: Record<string, { enum?: string[]; minimum?: number; maximum?: number; maxLength?: number }>;
    required: string[];
  };
  return Object.entries(properties)
    .filter(([name]) => name !== "model")
    .map(([name, { enum: words, minimum, maximum, maxLength }]) => {
      const rule =
        words?.join(" ") ?? (maximum === undefined ? `up to ${maxLength} characters` : `${minimum}–${maximum}`);
      return `\`${name}\`: ${rule}${required.includes(name) ? " (required)" : ""}`;
    })
    .join("; ");
}

function priceOf({ price: { per, usd } }: Model): string {
  const prices = Object.entries(usd).map(([name, dollars]) => `$${dollars} (${name})`);
  return `${prices.join(", ")} ${per === "image" ? "an image" : "a second"}`;
}

const parts: Record<string, () => string> = {
  options: () => table(["option", "flag", "variable", "default", "meaning"], optionRows()),
  problems: () =>
    table(
      ["status", "code", "when"],
      Object.entries(problems).map(([code, { status, when }]) => [String(status), `\`${code}\``, when]),
    ),
  operations: () =>
    table(
      ["operation", "call", "scope", "roles", "what it does"],
      operations.map(({ id, method, path, needs, roles, summary, addition }) => [
        `\`${id}\``,
        `\`${method} ${path}\``,
        needs === "nothing" ? "no key" : needs === "key" ? "any key" : `\`${needs}\``,
        needs === "nothing" ? "" : roles.join(", "),
        `${summary}${addition ? " *(addition)*" : ""}`,
      ]),
    ),
  moves: () => moves(deployment),
  generationMoves: () => moves(generation),
  models: () =>
    table(
      ["model", "what it makes", "price", "inputs"],
      models.map((model) => [`\`${model.id}\``, model.summary, priceOf(model), inputsOf(model)]),
    ),
  events: () =>
    table(
      ["event", "data"],
      Object.entries(catalog).map(([name, { entries }]) => [
        `\`${name}\``,
        Object.keys(entries)
          .map((key) => `\`${key}\``)
          .join(", "),
      ]),
    ),
};

/** Every command with those below it, as `--help` tells of them. */
async function commandRows(command: CommandDef, name: string): Promise<string[][]> {
  const below = Object.entries((await resolved(command.subCommands)) ?? {});
  if (below.length === 0) return [[`\`${name}\``, String((await resolved(command.meta))?.description ?? "")]];
  const rows = below.map(async ([word, one]) => commandRows(await resolved(one), `${name} ${word}`));
  return (await Promise.all(rows)).flat();
}
const resolved = async <T>(one: Resolvable<T>): Promise<T> => (typeof one === "function" ? (one as () => T)() : one);

/** The README with its marked parts written anew: `<!-- name -->` … `<!-- /name -->`. */
async function readme(text: string): Promise<string> {
  const commands = table(["command", "what it does"], await commandRows(main, "svc-server"));
  return text.replaceAll(/<!-- (\w+) -->\n[\s\S]*?<!-- \/\1 -->/g, (whole, name: string) => {
    const part = name === "commands" ? () => commands : parts[name];
    return part ? `<!-- ${name} -->\n${part()}\n<!-- /${name} -->` : whole;
  });
}

/** The browser's client cannot hold the operations, whose schemas are the service's: it has their calls. */
const clientCalls =
  () => `/** Written by \`npm run generate\`: method and path of every operation, and \`{}\` where it takes a body. */
export const calls = {
${operations.map(({ id, method, path, body }) => `  "${id}": "${method} ${path}${body ? " {}" : ""}",`).join("\n")}
} as const;
`;

export async function documents(): Promise<Document[]> {
  return [
    { path: "schema/seed.schema.json", text: json({ title: "A seed of svc-server", ...jsonSchema(seed) }) },
    {
      path: "schema/events.json",
      text: json({
        title: "The data of each event of svc-server",
        events: Object.fromEntries(Object.entries(catalog).map(([name, data]) => [name, jsonSchema(data)])),
      }),
    },
    { path: "schema/openapi.json", text: json(await openapi("flat")) },
    { path: "schema/openapi-full.json", text: json(await openapi("full")) },
    { path: "lib/client/calls.ts", text: clientCalls() },
    ...(await pages()),
  ];
}
