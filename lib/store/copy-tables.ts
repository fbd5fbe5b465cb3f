import { createHash, type Hash } from "node:crypto";
import { copySetting } from "./copy-mark.ts";
import { openMemory } from "./database-files.ts";
import { storable } from "./postgres.ts";

/** A table as `schema/*.sql` makes it, on both engines. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns of its primary key. */
  readonly key: readonly string[];
}

export type Row = Readonly<Record<string, string | number | null>>;
export type Key = readonly (string | number)[];

/** The rows of a database. Both engines compare text by its bytes, so pages of both have the same order. */
export interface Rows {
  /** Rows whose keys come after `after`, in the order of the keys. */
  page(table: Table, after: Key | undefined, limit: number): Promise<readonly Row[]>;
  count(table: Table): Promise<number>;
}

export const noRows: Rows = { page: async () => [], count: async () => 0 };

/** Runs a statement and answers its rows. Parameters are `$1`, `$2`, …, in their order. */
export type Ask = (text: string, values?: readonly (string | number)[]) => Promise<readonly Row[]>;

const list = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");

export function rowsOf(ask: Ask): Rows {
  return {
    page({ name, columns, key }, after, limit) {
      const conditions = [
        ...(after === undefined ? [] : [`(${list(key)}) > (${key.map((_, i) => `$${i + 1}`).join(", ")})`]),
        ...(name === "settings" ? [`name <> '${copySetting}'`] : []),
      ];
      const where = conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`;
      return ask(`select ${list(columns)} from "${name}"${where} order by ${list(key)} limit ${limit}`, after ?? []);
    },
    async count({ name }) {
      const [row] = await ask(`select count(*) as rows from "${name}"`);
      return Number(row?.["rows"]);
    },
  };
}

let known: readonly Table[] | undefined;

/** Every table with rows of the service, those first that others refer to. Files in the database are no rows here. */
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

export const keyOf = ({ key }: Table, row: Row): Key => key.map((column) => row[column] as string | number);

const compareValues = (a: string | number, b: string | number): number =>
  typeof a === "number" || typeof b === "number"
    ? Number(a) - Number(b)
    : Buffer.compare(Buffer.from(a), Buffer.from(b));

/** As the databases order keys. */
function compareKeys(a: Key, b: Key): number {
  for (const [i, value] of a.entries()) {
    const order = compareValues(value, b[i] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}

/** A row as text, the same for the same row of both engines. */
const canonical = ({ columns }: Table, row: Row): string =>
  JSON.stringify(columns.map((column) => storable(row[column] ?? null)));

/** The rows of one range of keys, in two databases, by their keys. */
interface Range {
  readonly source: ReadonlyMap<string, Row>;
  readonly target: ReadonlyMap<string, Row>;
}

const fewest = 20;
const most = 2_000;
/** Pages aim at so many characters: some rows hold a line of a log, others an answer of a megabyte. */
const page_chars = 2 * 1024 * 1024;

/**
 * All rows of a table in two databases, a range of keys after the other, and each range whole in both. It ends where the
 * shorter of two full pages ends, so neither side holds more than a page.
 */
export async function* ranges(table: Table, source: Rows, target: Rows): AsyncGenerator<Range> {
  let after: Key | undefined;
  for (let limit = 200; ; ) {
    const pages = await Promise.all([source.page(table, after, limit), target.page(table, after, limit)]);
    const [end] = pages
      .filter((page) => page.length === limit)
      .map((page) => keyOf(table, page.at(-1) ?? {}))
      .sort(compareKeys);
    const [left, right] = pages.map((page) => {
      const within = page.filter((row) => end === undefined || compareKeys(keyOf(table, row), end) <= 0);
      return new Map(within.map((row) => [JSON.stringify(keyOf(table, row)), row]));
    });
    yield { source: left ?? new Map(), target: right ?? new Map() };
    if (end === undefined) return;
    after = end;
    const chars = Math.max(1, ...pages.map((page) => page.reduce((sum, row) => sum + lengthOf(row), 0)));
    limit = Math.min(most, Math.max(fewest, Math.round((limit * page_chars) / chars)));
  }
}

const lengthOf = (row: Row) => Object.values(row).reduce<number>((sum, value) => sum + String(value).length, 0);

/** The rows of a source that a target does not have as they are, and the other way round. */
export function differences(table: Table, { source, target }: Range) {
  const differs = (row: Row, other: Row | undefined) =>
    other === undefined || canonical(table, row) !== canonical(table, other);
  return {
    missing: [...source].filter(([key, row]) => differs(row, target.get(key))).map(([, row]) => row),
    surplus: [...target].filter(([key, row]) => differs(row, source.get(key))).map(([, row]) => row),
  };
}

/** A checksum of all rows of a table. */
export function checksumOf(): { add(table: Table, rows: Iterable<Row>): void; readonly hex: () => string } {
  const hash: Hash = createHash("sha256");
  return {
    add(table, rows) {
      for (const row of rows) hash.update(`${canonical(table, row)}\n`);
    },
    hex: () => hash.digest("hex"),
  };
}
