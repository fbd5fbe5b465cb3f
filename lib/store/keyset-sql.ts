import { type RawBuilder, sql } from "kysely";
import type { Engine } from "./engine.ts";
import type { Tables } from "./tables.ts";

type Table = keyof Tables;
export type Column<T extends Table> = keyof Tables[T] & string;

/** A list of the rows that match the given filters, ordered by one key. */
export interface List<T extends Table> {
  readonly table: T;
  /** Columns that every call filters by. */
  readonly within: readonly Column<T>[];
  /** Columns that a call may also filter by. */
  readonly filters?: readonly Column<T>[];
  /**
   * The filters that each index serves, in addition to `within`. If several indexes serve equally many of the given
   * filters, the first one is preferred. Default: one index serves all given filters.
   */
  readonly indexes?: readonly (readonly Column<T>[])[];
  /** Default: `id`, newest first. */
  readonly key?: Column<T>;
  readonly order?: "asc" | "desc";
  /** Default: all columns. */
  readonly columns?: readonly Column<T>[];
  /**
   * Those of `columns` that are omitted from a row's JSON if null. Setting it adds `texts` to the list, if the engine
   * writes JSON faster than it reads columns. (A list of 20 takes 0.85 of the time of columns.)
   */
  readonly optional?: readonly Column<T>[];
  /** Those of `columns` that hold JSON. */
  readonly json?: readonly Column<T>[];
  /** One of `columns`. A text over 8 KiB is left empty: 101 rows of 1 MB are too much to read at once. */
  readonly long?: Column<T>;
  /** Excludes rows whose column value is in a subquery, which is usually empty. */
  readonly exclude?: { readonly column: Column<T>; readonly in: RawBuilder<unknown> };
}

/** A scan along one index. Filters that the index does not serve are checked on each row. */
export interface Scan {
  readonly name: string;
  readonly indexed: readonly string[];
  readonly unindexed: readonly string[];
}
/** The key of the last entry before the scan; undefined to start at the beginning. */
export type After = string | undefined;

/** The form of a row: its columns, or one JSON text. */
export type Form = "columns" | "json";

/** Index entries per statement, when reading rows and when only counting. A statement takes about a millisecond. */
export const batchSize = { reading: 1_000, counting: 2_000 };

/** In bytes. Both engines know the length of a text without reading it. */
const longText = 8192;

/** The statements of a list. `0` is a bound parameter. Limits are literals: SQLite prepares a bound one each time. */
export function sqlBuilder<T extends Table>(
  { table, key: keyColumn, order = "desc", columns, optional = [], json: jsonColumns = [], long, exclude }: List<T>,
  jsonOf: Engine["jsonOf"],
) {
  const key = sql.ref(keyColumn ?? "id");
  const [beyond, direction, lastOf] = order === "desc" ? [sql`<`, sql`desc`, sql`min`] : [sql`>`, sql`asc`, sql`max`];
  const names = (of: readonly string[]) => sql.join([...new Set(of)].map((name) => sql.ref(name)));
  const shortened = (name: string) =>
    sql`case when octet_length(${sql.ref(name)}) > ${sql.lit(longText)} then '' else ${sql.ref(name)} end as ${sql.ref(name)}`;
  const selected = columns
    ? sql.join(columns.map((name) => (name === long ? shortened(name) : sql.ref(name))))
    : sql`*`;
  const json = () =>
    sql`${jsonOf?.(columns?.filter((name) => !optional.includes(name)) ?? [], optional, jsonColumns)} as text`;
  const what = (form: Form) => (form === "json" ? json() : selected);
  const limitTo = (limit: number) => (Number.isFinite(limit) ? sql` limit ${sql.lit(limit)}` : sql``);
  const allOf = (conditions: readonly RawBuilder<unknown>[]) => sql.join([sql`1 = 1`, ...conditions], sql` and `);
  const equals = (of: readonly string[], first = sql`${0}`) =>
    of.map((name, i) => sql`${sql.ref(name)} = ${i === 0 ? first : sql`${0}`}`);
  const notExcluded = exclude ? [sql`${sql.ref(exclude.column)} not in (${exclude.in})`] : [];

  /** The first parameter, or null while any row is excluded: then the index finds nothing, and the query ends. */
  const unlessExcluded = exclude ? sql`(select ${0} where not exists (${exclude.in}))` : sql`${0}`;

  const from = ({ indexed }: Scan, after: After, first?: RawBuilder<unknown>) => {
    const start = after === undefined ? [] : [sql`${key} ${beyond} ${0}`];
    return sql`from ${sql.table(table)} where ${allOf([...equals(indexed, first), ...start])}`;
  };
  const inOrder = (limit: number) => sql`order by ${key} ${direction}${limitTo(limit)}`;
  const batchOf = (kind: keyof typeof batchSize, what: RawBuilder<unknown>, scan: Scan, after: After) =>
    sql`select ${what} ${from(scan, after)} ${inOrder(batchSize[kind])}`;
  const checkedColumns = ({ unindexed }: Scan) => [...unindexed, ...(exclude ? [exclude.column] : [])];
  /** The matches in the next batch, in list order. */
  const matches = (what: RawBuilder<unknown>, needed: RawBuilder<unknown>, scan: Scan, after: After) =>
    sql`select ${what} from (${batchOf("reading", needed, scan, after)}) as batch where ${allOf([...equals(scan.unindexed), ...notExcluded])}`;

  return {
    hasExcluded: () => sql`select 1 as found where exists (${exclude?.in})`,
    all: (form: Form, scan: Scan, after: After, limit: number) =>
      sql`select ${what(form)} ${from(scan, after, unlessExcluded)} ${inOrder(limit)}`,
    batch(form: Form, scan: Scan, after: After, limit: number) {
      const needed = columns ? names([...columns, ...checkedColumns(scan)]) : selected;
      return sql`${matches(what(form), needed, scan, after)}${limitTo(limit)}`;
    },
    count: (scan: Scan, after: After) => matches(sql`count(*) as number`, names(checkedColumns(scan)), scan, after),
    batchEnd: (kind: keyof typeof batchSize, scan: Scan, after: After) =>
      sql`select count(*) as entries, ${lastOf}(${key}) as last from (${batchOf(kind, key, scan, after)}) as batch`,
  };
}
