import { table } from "./command.ts";
import { type Described, described, formsOf, neededOf, partsOf } from "./fields.ts";

type Schema = Parameters<typeof formsOf>[0];

/** What `svc-server call NAME --help` says of an operation; undefined where none has this name. */
export function operationHelp(id: string | undefined): string | undefined {
  const operation = described().find((one) => one.id === id);
  return operation && about(operation);
}

export const operationList = (): string =>
  `OPERATIONS\n\n${table(described().map(({ id, summary }) => [`  ${id}`, summary]))}\n`;

function about({ id, summary, fields, path, example }: Described): string {
  const words = [...path.map((name) => `${name}=…`), ...wordsOf(example, "")];
  const rows = rowsOf(fields, "", 0);
  return [
    `${summary}.`,
    "",
    `USAGE svc-server call ${[id, ...words].join(" ")}`,
    ...(rows.length > 0 ? ["", "FIELDS", "", table(rows)] : []),
    "",
  ].join("\n");
}

/** A record as the words that would say it. */
const wordsOf = (record: Schema, within: string): string[] =>
  Object.entries(record).flatMap(([name, value]) => {
    const place = within + name;
    if (Array.isArray(value)) return [`${place}=${value.join(",")}`];
    if (typeof value === "object" && value !== null) return wordsOf(value as Schema, `${place}.`);
    const text = String(value);
    return [`${place}=${/^[\w.@:/*-]*$/.test(text) ? text : `'${text}'`}`];
  });

const mostDeep = 3;

function rowsOf(schema: Schema, within: string, depth: number): string[][] {
  const parts = partsOf(schema);
  const needed = neededOf(schema);
  return parts.names.flatMap((name) => {
    const part = parts.of(name) ?? {};
    const below = depth < mostDeep ? rowsOf(part, `${within}${name}.`, depth + 1) : [];
    if (below.length > 0) return below;
    const said = formsOf(part).find(({ description }) => description)?.["description"];
    return [[`  ${within}${name}`, needed.includes(name) ? "required" : "", kindOf(part), String(said ?? "")]];
  });
}

/** The words that a value may be, or its type. */
function kindOf(schema: Schema): string {
  const forms = formsOf(schema);
  const words = forms.flatMap(
    (form) => (form["enum"] ?? (form["const"] === undefined ? [] : [form["const"]])) as unknown[],
  );
  const items = forms.find(({ items }) => items)?.["items"];
  if (items) return `list of ${kindOf(items as Schema)}`;
  const types = words.length > 0 ? words : forms.flatMap(({ type }) => type ?? []);
  return [...new Set(types.map(String))].join("|");
}
