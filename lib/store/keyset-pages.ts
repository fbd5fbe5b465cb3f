import { type RawBuilder, sql } from "kysely";
import { yieldToEventLoop } from "../kernel/event-loop.ts";
import type { Position } from "../kernel/page.ts";
import type { Connection, Engine } from "./engine.ts";
import type { Tables } from "./tables.ts";

type Table = keyof Tables;
type Column<T extends Table> = keyof Tables[T] & string;
type Values = Readonly<Record<string, unknown>>;

/** A list in the order of one key, of the rows that equal the given filters. */
export interface List<T extends Table> {
  readonly table: T;
  /** Columns with a value in every call. */
  readonly within: readonly Column<T>[];
  /** Columns that a call may filter by. */
  readonly filters?: readonly Column<T>[];
  /**
   * The filters that each index serves, beside the columns in `within`. Where several indexes serve equally many of the
   * given filters, the first one is preferred. Default: one index serves all given filters.
   */
  readonly indexes?: readonly (readonly Column<T>[])[];
  /** Default: `id`, newest first. */
  readonly key?: Column<T>;
  readonly order?: "asc" | "desc";
  /** Default: all columns. */
  readonly columns?: readonly Column<T>[];
  /** Leaves out rows whose column is in a subquery, which is empty most of the time. */
  readonly exclude?: { readonly column: Column<T>; readonly in: RawBuilder<unknown> };
}
/** A table with an `organization_id` is never listed without one. */
type Filters<T extends Table> = { readonly [K in keyof Tables[T]]?: Tables[T][K] | undefined } & Pick<
  Tables[T],
  keyof Tables[T] & "organization_id"
>;
export interface Pages<T extends Table> {
  /** One row more than the page holds, if there are more. */
  rows(filters: Filters<T>, position: Position): Promise<Tables[T][]>;
  total(filters: Filters<T>): Promise<number>;
}

/** A scan along one index. Each row is checked against the filters that the index does not serve. */
interface Scan {
  readonly name: string;
  readonly indexed: readonly string[];
  readonly unindexed: readonly string[];
}
/** The key of the last entry before the scan; undefined at the start of the index. */
type After = string | undefined;

/**
 * How many index entries one statement covers, where it reads the row of each entry and where it only counts entries.
 * Both are about a millisecond of work (1,000 rows: 0.7 ms).
 */
const batchSize = { reading: 1_000, counting: 2_000 };

/**
 * Writes one statement for each combination of filters, and never `? IS NULL OR …`, which no index can serve.
 *
 * Where no index serves all filters, matches may be rare, and one statement could read the index to its end (188 to 589
 * ms at 300,000 deployments). Such a list is scanned in batches, and the event loop runs between them. Counting works
 * the same way. Neither may be used in a transaction, which awaits nothing but the store.
 */
export function createPages<T extends Table>(
  engine: Engine,
  connection: Connection,
  list: List<T>,
  sqlTexts: Map<string, string>,
): Pages<T> {
  let builder: ReturnType<typeof sqlBuilder<T>> | undefined;
  // Built on demand: most services of a process find every text in `sqlTexts`.
  const build = () => (builder ??= sqlBuilder(list));
  const statement = (shape: string, text: () => RawBuilder<unknown>) => {
    let known = sqlTexts.get(shape);
    if (known === undefined) {
      // 100 page sizes × filters × first or later page: rare shapes must not pile up forever.
      if (sqlTexts.size > 256) sqlTexts.clear();
      known = text().compile(engine.db).sql;
      sqlTexts.set(shape, known);
    }
    return connection.statement(known);
  };
  const shapeOf = ({ name }: Scan, after: After) => (after === undefined ? name : `${name} after`);
  const parametersOf = ({ indexed, unindexed }: Scan, after: After, values: Values) => [
    ...indexed.map((name) => values[name]),
    ...(after === undefined ? [] : [after]),
    ...unindexed.map((name) => values[name]),
  ];

  const knownScans = new Map<string, readonly Scan[]>();
  const scansFor = (values: Values): readonly Scan[] => {
    const given = (list.filters ?? []).filter((name) => values[name] !== undefined);
    const scans = knownScans.get(given.join()) ?? chooseScans(list, given);
    knownScans.set(given.join(), scans);
    return scans;
  };
  const hasExcluded = async () =>
    list.exclude !== undefined && (await statement("hasExcluded", () => build().hasExcluded()).first([])) !== undefined;
  /** The scan whose index serves every filter. Its statement gives no rows while `exclude` names any. */
  const directOf = (scans: readonly Scan[]) => scans.find(({ unindexed }) => unindexed.length === 0);

  const batchEnd = (kind: keyof typeof batchSize, scan: Scan, after: After, values: Values) => {
    const end = statement(`end ${kind} ${shapeOf(scan, after)}`, () => build().batchEnd(kind, scan, after));
    return end.first(parametersOf({ ...scan, unindexed: [] }, after, values)) as Promise<BatchEnd>;
  };

  /** Batches of all scans in rotation. The scan that reaches its end first ends them all: it has seen every match. */
  async function* batches(scans: readonly Scan[], values: Values, start?: After) {
    const positions = new Map(scans.map((scan) => [scan, start]));
    for (;;) {
      for (const scan of scans) {
        const after = positions.get(scan);
        yield { scan, after };
        const { entries, last } = await batchEnd("reading", scan, after, values);
        if (entries < batchSize.reading) return;
        positions.set(scan, last);
        await yieldToEventLoop();
      }
    }
  }

  const countEntries = async (scan: Scan, values: Values) => {
    let total = 0;
    let after: After;
    for (;;) {
      const { entries, last } = await batchEnd("counting", scan, after, values);
      total += entries;
      if (entries < batchSize.counting) return total;
      after = last;
      await yieldToEventLoop();
    }
  };

  return {
    async rows(filters, { after: start, per_page }) {
      const values: Values = filters;
      const scans = scansFor(values);
      const limit = per_page + 1;
      const read = (kind: "all" | "batch", scan: Scan, after: After) => {
        const rows = statement(`${kind} ${limit} ${shapeOf(scan, after)}`, () => build()[kind](scan, after, limit));
        return rows.all(parametersOf(scan, after, values)) as Promise<Tables[T][]>;
      };
      const direct = directOf(scans);
      let rows = direct ? await read("all", direct, start) : [];
      if (rows.length > 0 || (direct && !(await hasExcluded()))) return rows;
      const found = new Map<Scan, Tables[T][]>();
      for await (const { scan, after } of batches(scans, values, start)) {
        rows = [...(found.get(scan) ?? []), ...(await read("batch", scan, after))];
        found.set(scan, rows);
        if (rows.length >= limit) break;
      }
      return rows.slice(0, limit);
    },
    async total(filters) {
      const values: Values = filters;
      const scans = scansFor(values);
      const direct = directOf(scans);
      if (direct && !(await hasExcluded())) return countEntries(direct, values);
      let total = 0;
      const counted = new Map<Scan, number>();
      for await (const { scan, after } of batches(scans, values)) {
        const count = statement(`count ${shapeOf(scan, after)}`, () => build().count(scan, after));
        const { number } = (await count.first(parametersOf(scan, after, values))) as { number: number };
        total = (counted.get(scan) ?? 0) + number;
        counted.set(scan, total);
      }
      return total;
    },
  };
}

interface BatchEnd {
  /** The entries of the batch: fewer than its size at the end of the index. */
  readonly entries: number;
  readonly last: string;
}

/** A scan for each index that serves most of the given filters. */
function chooseScans<T extends Table>({ within, indexes }: List<T>, given: readonly Column<T>[]): Scan[] {
  const usable = (indexes ?? [given]).filter((index) => index.every((name) => given.includes(name)));
  const most = Math.max(...usable.map(({ length }) => length));
  return usable
    .filter(({ length }) => length === most)
    .map((index) => {
      const unindexed = given.filter((name) => !index.includes(name));
      return { name: `${index.join()} ${unindexed.join()}`, indexed: [...within, ...index], unindexed };
    });
}

/**
 * The statements of a list; a `0` stands where a parameter is bound. Limits are written into the text, because SQLite
 * prepares a statement with a bound LIMIT again for each execution.
 */
function sqlBuilder<T extends Table>({ table, key: keyColumn, order = "desc", columns, exclude }: List<T>) {
  const key = sql.ref(keyColumn ?? "id");
  const [beyond, direction, lastOf] = order === "desc" ? [sql`<`, sql`desc`, sql`min`] : [sql`>`, sql`asc`, sql`max`];
  const names = (of: readonly string[]) => sql.join([...new Set(of)].map((name) => sql.ref(name)));
  const selected = columns ? names(columns) : sql`*`;
  const limitTo = (limit: number) => (Number.isFinite(limit) ? sql` limit ${sql.lit(limit)}` : sql``);
  const allOf = (conditions: readonly RawBuilder<unknown>[]) => sql.join([sql`1 = 1`, ...conditions], sql` and `);
  const equals = (of: readonly string[], first = sql`${0}`) =>
    of.map((name, i) => sql`${sql.ref(name)} = ${i === 0 ? first : sql`${0}`}`);
  const notExcluded = exclude ? [sql`${sql.ref(exclude.column)} not in (${exclude.in})`] : [];

  /**
   * The first parameter, or null while anything is excluded: the index then gives nothing, and the search ends at once.
   * A condition would be evaluated for each row.
   */
  const unlessExcluded = exclude ? sql`(select ${0} where not exists (${exclude.in}))` : sql`${0}`;

  const from = ({ indexed }: Scan, after: After, first?: RawBuilder<unknown>) => {
    const start = after === undefined ? [] : [sql`${key} ${beyond} ${0}`];
    return sql`from ${sql.table(table)} where ${allOf([...equals(indexed, first), ...start])}`;
  };
  const inOrder = (limit: number) => sql`order by ${key} ${direction}${limitTo(limit)}`;
  const batchOf = (kind: keyof typeof batchSize, what: RawBuilder<unknown>, scan: Scan, after: After) =>
    sql`select ${what} ${from(scan, after)} ${inOrder(batchSize[kind])}`;
  const checkedColumns = ({ unindexed }: Scan) => [...unindexed, ...(exclude ? [exclude.column] : [])];
  /** The matches in the next batch, in the order of the list. */
  const matches = (what: RawBuilder<unknown>, needed: RawBuilder<unknown>, scan: Scan, after: After) =>
    sql`select ${what} from (${batchOf("reading", needed, scan, after)}) as batch where ${allOf([...equals(scan.unindexed), ...notExcluded])}`;

  return {
    hasExcluded: () => sql`select 1 as found where exists (${exclude?.in})`,
    all: (scan: Scan, after: After, limit: number) =>
      sql`select ${selected} ${from(scan, after, unlessExcluded)} ${inOrder(limit)}`,
    batch(scan: Scan, after: After, limit: number) {
      const needed = columns ? names([...columns, ...checkedColumns(scan)]) : selected;
      return sql`${matches(selected, needed, scan, after)}${limitTo(limit)}`;
    },
    count: (scan: Scan, after: After) => matches(sql`count(*) as number`, names(checkedColumns(scan)), scan, after),
    batchEnd: (kind: keyof typeof batchSize, scan: Scan, after: After) =>
      sql`select count(*) as entries, ${lastOf}(${key}) as last from (${batchOf(kind, key, scan, after)}) as batch`,
  };
}
