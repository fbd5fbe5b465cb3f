import { documentedOperations, formsOf, type OperationInfo, operationOf, partsOf, requiredOf } from "./call-fields.ts";
import { table } from "./output.ts";

type Schema = Parameters<typeof formsOf>[0];

/** What `svc-server call NAME --help` says of an operation; throws where none has this name. */
export const operationHelp = (id: string): string => about(operationOf(id));

export const operationList = (): string =>
  `OPERATIONS\n\n${table(documentedOperations().map(({ id, summary }) => [`  ${id}`, summary]))}\n`;

function about({ id, summary, fields, path, example }: OperationInfo): string {
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

/** A line a field; where it has one of several forms, their fields apart and behind all others. */
function rowsOf(schema: Schema, within: string, depth: number): string[][] {
  const parts = partsOf(schema);
  const needed = requiredOf(schema);
  const rows: string[][] = [];
  const chosen: string[][] = [];
  for (const name of parts.names) {
    const place = within + name;
    const part = parts.of(name) ?? {};
    const forms = formsOf(part).filter(({ properties }) => properties);
    if (forms.length > 1 && depth < mostDeep) {
      for (const form of forms)
        chosen.push(line(), line(`${place}, ${titleOf(form)}:`), ...rowsOf(form, `${place}.`, depth + 1));
      continue;
    }
    const below = depth < mostDeep ? rowsOf(part, `${place}.`, depth + 1) : [];
    const said = formsOf(part).find(({ description }) => description)?.["description"];
    if (below.length > 0) rows.push(...below);
    else rows.push(line(place, needed.includes(name) ? "required" : "", kindOf(part), String(said ?? "")));
  }
  return [...rows, ...chosen];
}

const line = (place = "", need = "", kind = "", said = "") => [`  ${place}`, need, kind, said];

/** What one of several forms is called: by its title, or by the word that tells it from the others. */
const titleOf = ({ title, properties }: Schema) =>
  String(title ?? Object.values(properties as Record<string, Schema>).find((one) => one["const"])?.["const"]);

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
