import { type RawBuilder, sql } from "kysely";
import { yieldToEventLoop } from "../kernel/event-loop.ts";
import type { Position } from "../kernel/page.ts";
import type { Connection, Engine } from "./engine.ts";
import type { Tables } from "./tables.ts";

type Text = keyof Tables;
type Column<T extends Text> = keyof Tables[T] & string;
type Values = Readonly<Record<string, unknown>>;

/** A list in the order of one key, of the rows whose columns equal what is given. */
export interface List<T extends Text> {
  readonly table: T;
  /** Columns that are always given. */
  readonly within: readonly Column<T>[];
  /** Columns that are given or not. */
  readonly filters?: readonly Column<T>[];
  /**
   * The filters that its indexes find, whole, beside what is always given; of those that find equally many, first the one
   * that serves most calls. Default: one of them finds all that are given.
   */
  readonly indexes?: readonly (readonly Column<T>[])[];
  /** Default: `id`, newest first. */
  readonly key?: Column<T>;
  readonly order?: "asc" | "desc";
  /** Default: all of them. */
  readonly columns?: readonly Column<T>[];
  /** Rows whose column is among these are not shown: most of the time there are none. */
  readonly without?: { readonly column: Column<T>; readonly among: RawBuilder<unknown> };
}
/** No list without its organization, where the table has one. */
type Filters<T extends Text> = { readonly [K in keyof Tables[T]]?: Tables[T][K] | undefined } & Pick<
  Tables[T],
  keyof Tables[T] & "organization_id"
>;
export interface Pages<T extends Text> {
  /** One row more than the page holds, where there are more. */
  rows(filters: Filters<T>, place: Position): Promise<Tables[T][]>;
  total(filters: Filters<T>): Promise<number>;
}

/** A way along an index. `rest` is what that does not find, so that each row has to be looked at. */
interface Way {
  readonly name: string;
  readonly index: readonly string[];
  readonly rest: readonly string[];
}
/** Where it goes on; undefined at its beginning. */
type After = string | undefined;

/**
 * How many entries of an index one statement passes over, where it looks at the row of each, and where it only counts them:
 * a millisecond of work.
 */
const stretch = { looking: 1_000, counting: 2_000 };

/**
 * One statement a combination of filters, never `? IS NULL OR …`, which no index can serve.
 *
 * Where no index finds all that is given, what is looked for may be rare, and the statement would go on to the index's
 * end. So such a list is walked in stretches, between which others have their turn, and so is what is counted; in a
 * transaction, where nobody has, neither may be.
 */
export function createPages<T extends Text>(
  engine: Engine,
  connection: Connection,
  list: List<T>,
  texts: Map<string, string>,
): Pages<T> {
  let writing: ReturnType<typeof writer<T>> | undefined;
  // Made at the first statement: most services write none, since another one of the process has.
  const write = () => (writing ??= writer(list));
  const statement = (shape: string, text: () => RawBuilder<unknown>) => {
    let found = texts.get(shape);
    if (found === undefined) {
      // 100 sizes × filters × first or later page: rare shapes must not pile up for ever.
      if (texts.size > 256) texts.clear();
      found = text().compile(engine.db).sql;
      texts.set(shape, found);
    }
    return connection.statement(found);
  };
  const shapeOf = ({ name }: Way, after: After) => (after === undefined ? name : `${name} after`);
  const valuesOf = ({ index, rest }: Way, after: After, values: Values) => [
    ...index.map((name) => values[name]),
    ...(after === undefined ? [] : [after]),
    ...rest.map((name) => values[name]),
  ];

  const known = new Map<string, readonly Way[]>();
  const waysOf = (values: Values): readonly Way[] => {
    const given = (list.filters ?? []).filter((name) => values[name] !== undefined);
    const ways = known.get(given.join()) ?? waysFor(list, given);
    known.set(given.join(), ways);
    return ways;
  };
  const hides = async () =>
    list.without !== undefined && (await statement("hides", () => write().hides()).first([])) !== undefined;
  /** The way that passes over nothing; as long as something is hidden, it gives nothing. */
  const directOf = (ways: readonly Way[]) => ways.find(({ rest }) => rest.length === 0);

  const endOf = (how: keyof typeof stretch, way: Way, after: After, values: Values) => {
    const end = statement(`end ${how} ${shapeOf(way, after)}`, () => write().end(how, way, after));
    return end.first(valuesOf({ ...way, rest: [] }, after, values)) as Promise<End>;
  };

  /** A stretch of each way in turn, up to the end of the shortest: the last one belongs to the way that is at its end. */
  async function* stretches(ways: readonly Way[], values: Values, first?: After) {
    const places = new Map(ways.map((way) => [way, first]));
    for (;;) {
      for (const way of ways) {
        const after = places.get(way);
        yield { way, after };
        const { passed, last } = await endOf("looking", way, after, values);
        if (passed < stretch.looking) return;
        places.set(way, last);
        await yieldToEventLoop();
      }
    }
  }

  /** How many entries a way has. */
  const entries = async (way: Way, values: Values) => {
    let [total, after]: [number, After] = [0, undefined];
    for (;;) {
      const { passed, last } = await endOf("counting", way, after, values);
      total += passed;
      if (passed < stretch.counting) return total;
      after = last;
      await yieldToEventLoop();
    }
  };

  return {
    async rows(filters, { after: first, per_page }) {
      const values: Values = filters;
      const [ways, most] = [waysOf(values), per_page + 1];
      const read = (how: "all" | "part", way: Way, after: After) => {
        const reading = statement(`${how} ${most} ${shapeOf(way, after)}`, () => write()[how](way, after, most));
        return reading.all(valuesOf(way, after, values)) as Promise<Tables[T][]>;
      };
      const direct = directOf(ways);
      let rows = direct ? await read("all", direct, first) : [];
      if (rows.length > 0 || (direct && !(await hides()))) return rows;
      const found = new Map<Way, Tables[T][]>();
      for await (const { way, after } of stretches(ways, values, first)) {
        rows = [...(found.get(way) ?? []), ...(await read("part", way, after))];
        found.set(way, rows);
        if (rows.length >= most) break;
      }
      return rows.slice(0, most);
    },
    async total(filters) {
      const values: Values = filters;
      const ways = waysOf(values);
      const direct = directOf(ways);
      if (direct && !(await hides())) return entries(direct, values);
      let total = 0;
      const counted = new Map<Way, number>();
      for await (const { way, after } of stretches(ways, values)) {
        const counting = statement(`count ${shapeOf(way, after)}`, () => write().count(way, after));
        const { number } = (await counting.first(valuesOf(way, after, values))) as { number: number };
        total = (counted.get(way) ?? 0) + number;
        counted.set(way, total);
      }
      return total;
    },
  };
}

interface End {
  /** How many entries the stretch has: fewer than asked for at the index's end. */
  readonly passed: number;
  readonly last: string;
}

/** The ways by the indexes that find most of the filters that are given. */
function waysFor<T extends Text>({ within, indexes }: List<T>, given: readonly Column<T>[]): Way[] {
  const fitting = (indexes ?? [given]).filter((index) => index.every((name) => given.includes(name)));
  const most = Math.max(...fitting.map(({ length }) => length));
  return fitting
    .filter(({ length }) => length === most)
    .map((found) => {
      const rest = given.filter((name) => !found.includes(name));
      return { name: `${found.join()} ${rest.join()}`, index: [...within, ...found], rest };
    });
}

/**
 * The statements of a list. Limits are written into the text: SQLite prepares a statement with a bound LIMIT again at
 * each execution.
 */
function writer<T extends Text>({ table, key: named, order = "desc", columns, without }: List<T>) {
  const key = sql.ref(named ?? "id");
  const [past, direction, furthest] = order === "desc" ? [sql`<`, sql`desc`, sql`min`] : [sql`>`, sql`asc`, sql`max`];
  const names = (of: readonly string[]) => sql.join([...new Set(of)].map((name) => sql.ref(name)));
  const shown = columns ? names(columns) : sql`*`;
  const limit = (most: number) => (Number.isFinite(most) ? sql` limit ${sql.lit(most)}` : sql``);
  const every = (conditions: readonly RawBuilder<unknown>[]) => sql.join([sql`1 = 1`, ...conditions], sql` and `);
  const equal = (of: readonly string[], first = sql`${0}`) =>
    of.map((name, i) => sql`${sql.ref(name)} = ${i === 0 ? first : sql`${0}`}`);
  const notHidden = without ? [sql`${sql.ref(without.column)} not in (${without.among})`] : [];

  /** The first value; none while something is hidden, which ends the search at once. Of a condition each row is asked. */
  const unlessHidden = without ? sql`(select ${0} where not exists (${without.among}))` : sql`${0}`;

  const from = ({ index }: Way, after: After, first?: RawBuilder<unknown>) => {
    const place = after === undefined ? [] : [sql`${key} ${past} ${0}`];
    return sql`from ${sql.table(table)} where ${every([...equal(index, first), ...place])}`;
  };
  const inOrder = (most: number) => sql`order by ${key} ${direction}${limit(most)}`;
  const along = (how: keyof typeof stretch, what: RawBuilder<unknown>, way: Way, after: After) =>
    sql`select ${what} ${from(way, after)} ${inOrder(stretch[how])}`;
  const lookedAt = ({ rest }: Way) => [...rest, ...(without ? [without.column] : [])];
  /** What is asked for of the next stretch, in the order in which that comes. */
  const part = (what: RawBuilder<unknown>, needed: RawBuilder<unknown>, way: Way, after: After) =>
    sql`select ${what} from (${along("looking", needed, way, after)}) as stretch where ${every([...equal(way.rest), ...notHidden])}`;

  return {
    hides: () => sql`select 1 as some where exists (${without?.among})`,
    all: (way: Way, after: After, most: number) =>
      sql`select ${shown} ${from(way, after, unlessHidden)} ${inOrder(most)}`,
    part(way: Way, after: After, most: number) {
      const needed = columns ? names([...columns, ...lookedAt(way)]) : shown;
      return sql`${part(shown, needed, way, after)}${limit(most)}`;
    },
    count: (way: Way, after: After) => part(sql`count(*) as number`, names(lookedAt(way)), way, after),
    end: (how: keyof typeof stretch, way: Way, after: After) =>
      sql`select count(*) as passed, ${furthest}(${key}) as last from (${along(how, key, way, after)}) as stretch`,
  };
}
