import { readdirSync, readFileSync } from "node:fs";
import { groups } from "../bin/commands.ts";
import type { Listing } from "../bin/define-command.ts";
import { jsonSchema } from "../lib/composition/openapi/json-schema.ts";
import { operations } from "../lib/composition/operations.ts";
import { allOptions, type OptionInfo, variableOf } from "../lib/config/parse-options.ts";
import { failures, outcomeFields } from "../lib/drivers/simulated-outcome.ts";
import { faultFields } from "../lib/emulator/instruments/faults.ts";
import { lifecycle as deployment } from "../lib/features/deployments/states.ts";
import { catalog } from "../lib/features/events/catalog.ts";
import { type Model, models } from "../lib/features/generations/models.ts";
import { lifecycle as generation } from "../lib/features/generations/states.ts";
import { problems } from "../lib/kernel/errors.ts";
import type { Machine } from "../lib/kernel/state-machine.ts";

/** Generated from the code, so it stays up to date: the JSON files of schema/, and the marked parts of the pages. */
export interface Document {
  readonly path: string;
  readonly text: string;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const optionTable = (options: readonly OptionInfo[]) =>
  table(
    ["option", "flag", "variable", "default", "meaning"],
    options.map(({ path, help, fallback, flag, format }) => [
      `\`${path}\``,
      flag === undefined ? "" : `\`--${flag}\``,
      format === undefined ? "" : `\`${variableOf({ path })}\``,
      fallback === undefined ? "" : `\`${JSON.stringify(fallback)}\``,
      help,
    ]),
  );

/** The most common options. They come first on the page of options. */
const common = ["database", "clock", "seed", "publicUrl", "behindProxy", "outbound.allow", "generations.backends"];
const commonOptions = common.map((path) => {
  const option = allOptions.find((one) => one.path === path);
  if (!option) throw new Error(`no option is called ${path}`);
  return option;
});

/** A state diagram as a table, with one row per move. */
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

/** The recipes. Each file begins with a one-line description. */
const recipes = readdirSync("fixtures/recipes", { recursive: true })
  .map((file) => String(file).replaceAll("\\", "/"))
  .filter((file) => /\.(ts|mjs|yml|py|go)$/.test(file))
  .sort()
  .map((file) => {
    const [first = "", ...code] = readFileSync(`fixtures/recipes/${file}`, "utf8").split("\n");
    return {
      file,
      description: first.replace(/^(?:\/\/|#) /, ""),
      code: `\`\`\`${file.endsWith(".mjs") ? "js" : file.split(".").at(-1)}\n${code.join("\n")}\`\`\``,
    };
  });

/** How a deployment ends after each result of the simulated driver. */
const endings = {
  failed: ["`failed`, with `deployment.failed`", "`failed`, with `deployment.failed`; the live release stays"],
  unhealthy: [
    "`failed`, with `deployment.failed`",
    "`rolled_back`, with `deployment.rolled_back` and the reason `health_check`; the live release stays. With the option `deployments.autoRollback: false`, `failed`",
  ],
} as const;

function outcomes(): string {
  const failed = Object.entries(failures).map(([at, { state, message }]) => [
    `\`{"result":"fail","at":"${at}"}\``,
    ...endings[state],
    message,
  ]);
  const live = "`active`, with `deployment.succeeded`";
  return table(
    ["outcome", "where nothing is live yet", "where a release is live", "message by default"],
    [['`{}`, `{"result":"succeed"}`', live, live, ""], ...failed],
  );
}

const fieldRows = (schema: Parameters<typeof jsonSchema>[0]) =>
  Object.entries(jsonSchema(schema)["properties"] as Record<string, { enum?: string[]; description?: string }>).map(
    ([name, { enum: values = [], description = "" }]) => [
      `\`${name}\``,
      values.map((value) => `\`${value}\``).join(", "),
      description,
    ],
  );

const parts: Record<string, () => string | Promise<string>> = {
  options: () => optionTable(allOptions),
  commonOptions: () => optionTable(commonOptions),
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
  scenarioOutcomes: outcomes,
  scenarioFields: () => table(["field of an outcome", "values", "what it does"], fieldRows(outcomeFields)),
  faultFields: () =>
    table(
      ["field of `respond`", "what it does"],
      fieldRows(faultFields).map(([name = "", , meaning = ""]) => [name, meaning]),
    ),
  commands: async () => {
    const tables = Object.entries(groups).map(
      async ([name, list]) =>
        `**${name}**\n\n${table(["command", "what it does"], await commandRows(list, "svc-server"))}`,
    );
    return (await Promise.all(tables)).join("\n\n");
  },
  recipes: () =>
    table(
      ["recipe", "what it shows"],
      recipes.map(({ file, description }) => [`[${file}](${file})`, description]),
    ),
};
/** `<!-- recipe driver -->` marks that recipe's code. A page may omit recipes, because the index has all of them. */
const code = Object.fromEntries(recipes.map(({ file, code }) => [`recipe ${file.replace(/\.\w+$/, "")}`, () => code]));

/** The commands of a list and those below them, each with what its `--help` says first. */
async function commandRows(list: Listing, above: string): Promise<string[][]> {
  const rows = Object.entries(list).map(async ([word, { summary, load }]) => {
    const { meta, list } = typeof load === "function" ? await load() : load;
    const name = `${above} ${word}`;
    return list ? commandRows(list, name) : [[`\`${name}\``, `${summary}. ${meta.description}`.trim()]];
  });
  return (await Promise.all(rows)).flat();
}

const folders = ["schema", "fixtures/hosting", "fixtures/recipes"];
const paths = () => [
  "README.md",
  ...folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.endsWith(".md"))
      .sort()
      .map((file) => `${folder}/${file}`),
  ),
];

/** The pages with their generated parts: `<!-- name -->` … `<!-- /name -->`. */
export async function pages(): Promise<Document[]> {
  const left = new Set(Object.keys(parts));
  const documents: Document[] = [];
  for (const path of paths()) {
    let text = readFileSync(path, "utf8");
    for (const [whole, name = ""] of text.matchAll(/<!-- ([\w -]+) -->\n[\s\S]*?<!-- \/\1 -->/g)) {
      const part = parts[name] ?? code[name];
      if (!part) throw new Error(`${path} has a part "${name}" that nothing writes`);
      const now = await part();
      text = text.replace(whole, () => `<!-- ${name} -->\n${now}\n<!-- /${name} -->`);
      left.delete(name);
    }
    documents.push({ path, text });
  }
  if (left.size > 0) throw new Error(`no page has the parts ${[...left].join(", ")}`);
  return documents;
}
