import {
  documentedOperations,
  enumOf,
  formsOf,
  type OperationInfo,
  operationOf,
  partsOf,
  requiredOf,
} from "./call-fields.ts";
import { table } from "./output.ts";

type Schema = Parameters<typeof formsOf>[0];

/** The text of `svc-server call NAME --help`. Throws for an unknown name. */
export const operationHelp = (id: string): string => about(operationOf(id));

export const operationList = (): string =>
  `OPERATIONS\n\n${table(documentedOperations().map(({ id, summary }) => [`  ${id}`, summary]))}\n`;

function about({ id, summary, description, fields, path, example }: OperationInfo): string {
  const words = [...path.map((name) => `${name}=…`), ...wordsOf(example, "")];
  return [
    `${summary}.`,
    "",
    description,
    "",
    `USAGE svc-server call ${[id, ...words].join(" ")}`,
    ...fieldHelp(fields),
    "",
  ].join("\n");
}

export function fieldHelp(fields: Schema): string[] {
  const rows = rowsOf(fields, "", 0);
  return rows.length > 0 ? ["", "FIELDS", "", table(rows)] : [];
}

/** The command-line words that produce this record. */
export const wordsOf = (record: Schema, prefix: string): string[] =>
  Object.entries(record).flatMap(([name, value]) => {
    const place = prefix + name;
    if (Array.isArray(value)) return [`${place}=${value.join(",")}`];
    if (typeof value === "object" && value !== null) return wordsOf(value as Schema, `${place}.`);
    const text = String(value);
    return [`${place}=${/^[\w.@:/*-]*$/.test(text) ? text : `'${text}'`}`];
  });

const maxDepth = 3;

/** One line per field. The fields of alternative forms come last, form by form. */
function rowsOf(schema: Schema, prefix: string, depth: number): string[][] {
  const parts = partsOf(schema);
  const needed = requiredOf(schema);
  const rows: string[][] = [];
  const chosen: string[][] = [];
  for (const name of parts.names) {
    const place = prefix + name;
    const part = parts.of(name) ?? {};
    const forms = formsOf(part).filter(({ properties }) => properties);
    if (forms.length > 1 && depth < maxDepth) {
      for (const form of forms)
        chosen.push(line(), line(`${place}, ${titleOf(form)}:`), ...rowsOf(form, `${place}.`, depth + 1));
      continue;
    }
    const below = depth < maxDepth ? rowsOf(part, `${place}.`, depth + 1) : [];
    const said = formsOf(part).find(({ description }) => description)?.["description"];
    if (below.length > 0) rows.push(...below);
    else rows.push(line(place, needed.includes(name) ? "required" : "", kindOf(part), String(said ?? "")));
  }
  return [...rows, ...chosen];
}

const line = (place = "", need = "", kind = "", said = "") => [`  ${place}`, need, kind, said];

/** The name of an alternative form: its title, or the constant that identifies it. */
const titleOf = ({ title, properties }: Schema) =>
  String(title ?? Object.values(properties as Record<string, Schema>).find((one) => one["const"])?.["const"]);

function kindOf(schema: Schema): string {
  const forms = formsOf(schema);
  const words = enumOf(schema);
  const items = forms.find(({ items }) => items)?.["items"];
  if (items) return `list of ${kindOf(items as Schema)}`;
  const types = words.length > 0 ? words : forms.flatMap(({ type }) => type ?? []);
  return [...new Set(types.map(String))].join("|");
}
