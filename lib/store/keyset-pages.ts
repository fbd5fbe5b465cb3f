import type { RawBuilder } from "kysely";
import { yieldToEventLoop } from "../kernel/node/event-loop.ts";
import type { Position } from "../kernel/page.ts";
import type { JsonText } from "../kernel/result-text.ts";
import type { Connection, Engine } from "./engine.ts";
import { type After, batchSize, type Column, type Form, type List, type Scan, sqlBuilder } from "./keyset-sql.ts";
import type { Tables } from "./tables.ts";

type Table = keyof Tables;
type Values = Readonly<Record<string, unknown>>;

/** Tables with an `organization_id` can only be listed for one organization. */
type Filters<T extends Table> = { readonly [K in keyof Tables[T]]?: Tables[T][K] | undefined } & Pick<
  Tables[T],
  keyof Tables[T] & "organization_id"
>;
export interface Pages<T extends Table> {
  /** Returns one row more than the page size if another page follows. */
  rows(filters: Filters<T>, position: Position): Promise<Tables[T][]>;
  total(filters: Filters<T>): Promise<number>;
  /** The same list as JSON text; undefined if the list or the engine does not support it. */
  readonly texts?: {
    rows(filters: Filters<T>, position: Position): Promise<JsonText[]>;
    total(filters: Filters<T>): Promise<number>;
  };
}

/**
 * Uses one statement for each combination of filters, never `? IS NULL OR …`, which defeats indexes.
 *
 * If no index serves all filters, matches may be rare, and a single statement could read the whole index. So such a
 * list is scanned in batches, and the event loop runs between them. Counting does the same. Neither may run in a
 * transaction, which may await only the store.
 */
export function createPages<T extends Table>(
  engine: Engine,
  connection: Connection,
  list: List<T>,
  sqlTexts: Map<string, string>,
): Pages<T> {
  let builder: ReturnType<typeof sqlBuilder<T>> | undefined;
  // Built on demand: usually another service of this process has put every text in `sqlTexts` already.
  const build = () => (builder ??= sqlBuilder(list, engine.jsonOf));
  const statement = (shape: string, text: () => RawBuilder<unknown>) => {
    let sql = sqlTexts.get(shape);
    if (sql === undefined) {
      // There are 100 page sizes × filters × first or later page, so the cache needs a limit.
      if (sqlTexts.size > 256) sqlTexts.clear();
      sql = text().compile(engine.db).sql;
      sqlTexts.set(shape, sql);
    }
    return connection.statement(sql);
  };
  const shapeOf = ({ name }: Scan, after: After) => (after === undefined ? name : `${name} after`);
  const parametersOf = ({ indexed, unindexed }: Scan, after: After, values: Values) => [
    ...indexed.map((name) => values[name]),
    ...(after === undefined ? [] : [after]),
    ...unindexed.map((name) => values[name]),
  ];

  const scansFor = (values: Values): readonly Scan[] =>
    chooseScans(
      list,
      (list.filters ?? []).filter((name) => values[name] !== undefined),
    );
  const hasExcluded = async () =>
    list.exclude !== undefined && (await statement("hasExcluded", () => build().hasExcluded()).first([])) !== undefined;
  /** The scan whose index serves every filter. Its `all` statement returns no rows while any row is excluded. */
  const directOf = (scans: readonly Scan[]) => scans.find(({ unindexed }) => unindexed.length === 0);

  const batchEnd = (kind: keyof typeof batchSize, scan: Scan, after: After, values: Values) => {
    const end = statement(`end ${kind} ${shapeOf(scan, after)}`, () => build().batchEnd(kind, scan, after));
    return end.first(parametersOf({ ...scan, unindexed: [] }, after, values)) as Promise<BatchEnd>;
  };

  /** Yields batches of all scans in rotation. Stops when one scan is complete: it has seen every match. */
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

  const page = async <R>(form: Form, values: Values, { after: start, per_page }: Position): Promise<R[]> => {
    const scans = scansFor(values);
    const limit = per_page + 1;
    const read = (kind: "all" | "batch", scan: Scan, after: After) => {
      const shape = `${form} ${kind} ${limit} ${shapeOf(scan, after)}`;
      const rows = statement(shape, () => build()[kind](form, scan, after, limit));
      return rows.all(parametersOf(scan, after, values)) as Promise<R[]>;
    };
    const direct = directOf(scans);
    let rows = direct ? await read("all", direct, start) : [];
    if (rows.length > 0 || (direct && !(await hasExcluded()))) return rows;
    const found = new Map<Scan, R[]>();
    for await (const { scan, after } of batches(scans, values, start)) {
      rows = [...(found.get(scan) ?? []), ...(await read("batch", scan, after))];
      found.set(scan, rows);
      if (rows.length >= limit) break;
    }
    return rows.slice(0, limit);
  };
  const total = async (values: Values): Promise<number> => {
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
  };

  const texts = async (values: Values, position: Position) =>
    (await page<{ text: JsonText }>("json", values, position)).map(({ text }) => text);
  return {
    rows: (filters, position) => page<Tables[T]>("columns", filters, position),
    total,
    ...(list.optional && engine.jsonOf && { texts: { rows: texts, total } }),
  };
}

interface BatchEnd {
  /** The number of entries in the batch. Less than the batch size at the end of the index. */
  readonly entries: number;
  readonly last: string;
}

/** One scan for each index that serves the largest number of the given filters. */
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
