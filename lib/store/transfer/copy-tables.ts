import { storable } from "../postgres/driver.ts";
import { openMemory } from "../sqlite/database-files.ts";

/** A table of `schema/*.sql`, the same on both engines. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

export type Row = Readonly<Record<string, string | number | null>>;

/** Runs a statement and returns its rows. Parameters are `$1`, `$2`, …, in the order of `values`. */
export type Ask = (text: string, values?: readonly (string | number)[]) => Promise<readonly Row[]>;

let known: readonly Table[] | undefined;

/** All tables to copy, referenced tables first. Excludes files in the database, which are copied as files. */
export function tablesInOrder(): readonly Table[] {
  known ??= readTables();
  return known;
}

function readTables(): Table[] {
  const { database, engine } = openMemory();
  const names = database
    .prepare("select name from sqlite_schema where type = 'table' and name not in ('migrations', 'asset_parts')")
    .pluck()
    .all() as string[];
  const references = database.prepare('select "table" from pragma_foreign_key_list(?)').pluck();
  const columnsOf = database.prepare("select name, pk from pragma_table_info(?) order by cid");
  const ordered: string[] = [];
  const add = (name: string) => {
    if (ordered.includes(name)) return;
    for (const other of references.all(name)) add(String(other));
    ordered.push(name);
  };
  for (const name of names) add(name);
  const tables = ordered.map((name): Table => {
    const columns = columnsOf.all(name) as { name: string; pk: number }[];
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    return { name, columns: columns.map((one) => one.name), key: key.map((one) => one.name) };
  });
  void engine.close();
  return tables;
}

/** A row as a line of text, equal on both engines. */
export const lineOf = ({ columns }: Table, row: Row): string =>
  `${JSON.stringify(columns.map((column) => storable(row[column] ?? null)))}\n`;

const minRows = 20;
const maxRows = 2_000;
/** The target size of a page, in characters. Row sizes differ: some hold a log line, some a response of a megabyte. */
const page_chars = 2 * 1024 * 1024;

/** All rows of a table, in key order. Both engines order text by its bytes. */
export async function* pagesOf(ask: Ask, { name, columns, key }: Table): AsyncGenerator<readonly Row[]> {
  const list = (names: readonly string[]) => names.map((one) => `"${one}"`).join(", ");
  const select = `select ${list(columns)} from "${name}"`;
  const later = ` where (${list(key)}) > (${key.map((_, i) => `$${i + 1}`).join(", ")})`;
  let after: (string | number)[] = [];
  for (let limit = 200; ; ) {
    const where = after.length > 0 ? later : "";
    const page = await ask(`${select}${where} order by ${list(key)} limit ${limit}`, after);
    const last = page.at(-1);
    if (last) yield page;
    if (!last || page.length < limit) return;
    after = key.map((column) => last[column] as string | number);
    const chars = page.reduce((sum, row) => sum + lengthOf(row), 0);
    limit = Math.min(maxRows, Math.max(minRows, Math.round((limit * page_chars) / chars)));
  }
}

const lengthOf = (row: Row) => Object.values(row).reduce<number>((sum, value) => sum + String(value).length, 0);

/** Passes all rows to `take`, a page at a time, referenced tables first. */
export async function eachPage(ask: Ask, take: (table: Table, rows: readonly Row[]) => void): Promise<void> {
  for (const table of tablesInOrder()) for await (const page of pagesOf(ask, table)) take(table, page);
}
