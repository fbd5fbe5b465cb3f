import { type Compilable, type CompiledQuery, type Insertable, type RawBuilder, sql } from "kysely";
import type { Place } from "../kernel/page.ts";
import type { Connection, Engine, Statement, Writer } from "./engine.ts";
import type { Tables } from "./tables.ts";

/** Stands for a value that comes with each call. */
class Named {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}
const named = new Proxy({}, { get: (_, name) => new Named(String(name)) });

type Build<P, R> = (db: Writer, parameters: P) => Compilable<R>;
type Text = keyof Tables;
type Values = Readonly<Record<string, unknown>>;

/**
 * Queries written once, with named parameters, and run as prepared statements: building and preparing anew at every
 * call would cost two thirds of the throughput. One of these exists for each connection.
 */
export interface Queries {
  all<P, R>(build: Build<P, R>): (args: P) => Promise<R[]>;
  first<P, R>(build: Build<P, R>): (args: P) => Promise<R | undefined>;
  /** A write that answers how many rows it changed. */
  change<P>(build: Build<P, unknown>): (args: P) => Promise<number>;
  /** Inserts rows by their own keys, so that a column is named in one place only. */
  insert<T extends Text>(table: T): (row: Insertable<Tables[T]>) => Promise<unknown>;
  /** A list in the order of one key, in pages, of the rows whose columns equal what is given. */
  pages<T extends Text>(list: List<T>): Pages<T>;
}

interface List<T extends Text> {
  readonly table: T;
  /** Columns that are always given, which the index begins with. */
  readonly within: readonly (keyof Tables[T] & string)[];
  /** Columns that are given or not. */
  readonly filters?: readonly (keyof Tables[T] & string)[];
  /** Default: `id`, newest first. */
  readonly key?: keyof Tables[T] & string;
  readonly order?: "asc" | "desc";
  /** Default: all of them. */
  readonly columns?: readonly (keyof Tables[T] & string)[];
  /** Rows whose column is among these are not shown: few, and most of the time none. */
  readonly without?: { readonly column: keyof Tables[T] & string; readonly among: RawBuilder<unknown> };
}
/** No list without its organization, where the table has one. */
type Filters<T extends Text> = { readonly [K in keyof Tables[T]]?: Tables[T][K] | undefined } & Pick<
  Tables[T],
  keyof Tables[T] & "organization_id"
>;
export interface Pages<T extends Text> {
  /** One row more than the page holds, where there are more. */
  rows(filters: Filters<T>, place: Place): Promise<Tables[T][]>;
  total(filters: Filters<T>): Promise<number>;
}

/** What was written for a repository, in the order of its queries, which is always the same. */
export type Written = object[];

/** `written` is shared by all stores of a process, so that each text is written once and not once a service. */
export function createQueries(engine: Engine, connection: Connection, written: Written = []): Queries {
  let count = 0;
  const own = <T extends object>(made: T): T => {
    const place = count++;
    written[place] ??= made;
    return written[place] as T;
  };
  const prepare = <P>(build: Build<P, unknown>) => {
    const text: { compiled?: CompiledQuery } = own({});
    let statement: Statement | undefined;
    return (args: P) => {
      text.compiled ??= build(engine.db, named as P).compile();
      statement ??= connection.statement(text.compiled.sql);
      return [statement, bind(text.compiled.parameters, args as Values)] as const;
    };
  };
  return {
    all(build) {
      const prepared = prepare(build);
      return (args) => {
        const [statement, values] = prepared(args);
        return statement.all(values) as Promise<never[]>;
      };
    },
    first(build) {
      const prepared = prepare(build);
      return (args) => {
        const [statement, values] = prepared(args);
        return statement.first(values) as Promise<never>;
      };
    },
    change(build) {
      const prepared = prepare(build);
      return (args) => {
        const [statement, values] = prepared(args);
        return statement.change(values);
      };
    },
    insert(table) {
      const texts = own(new Map<string, string>());
      let last = { keys: [] as readonly string[], statement: undefined as Statement | undefined };
      const prepared = (keys: readonly string[], row: Insertable<Tables[typeof table]>) => {
        const shape = keys.join();
        const text = texts.get(shape) ?? engine.db.insertInto(table).values(row).compile().sql;
        texts.set(shape, text);
        const statement = connection.statement(text);
        last = { keys, statement };
        return statement;
      };
      return (row) => {
        const keys = Object.keys(row);
        // Nearly always the same ones: to compare them takes a tenth of the time of a key made of them.
        const isLast = keys.length === last.keys.length && keys.every((key, i) => key === last.keys[i]);
        const statement = (isLast ? last.statement : undefined) ?? prepared(keys, row);
        return statement.change(Object.values(row));
      };
    },
    pages: (list) => pages(engine, connection, list, own(new Map())),
  };
}

/** A value for each place of the text; what Kysely bound itself stays as it is. */
function bind(parameters: readonly unknown[], args: Values): unknown[] {
  return parameters.map((parameter) => {
    if (!(parameter instanceof Named)) return parameter;
    const value = args[parameter.name];
    if (value === undefined) throw new Error(`the query needs the parameter ${parameter.name}`);
    return value;
  });
}

/**
 * One statement a combination of filters, never `? IS NULL OR …`, which no index can serve. The limit is written into
 * the text: SQLite prepares a statement with a bound LIMIT again at each execution.
 */
function pages<T extends Text>(
  engine: Engine,
  connection: Connection,
  list: List<T>,
  texts: Map<string, string>,
): Pages<T> {
  const key = sql.ref(list.key ?? "id");
  const columns = list.columns ? sql.join(list.columns.map((name) => sql.ref(name))) : sql`*`;
  const descending = (list.order ?? "desc") === "desc";
  const given = (values: Values) => [
    ...list.within,
    ...(list.filters ?? []).filter((name) => values[name] !== undefined),
  ];
  const text = (shape: string, build: () => string) => {
    let found = texts.get(shape);
    if (!found) {
      // 100 sizes × filters × first or later page: rare shapes must not pile up for ever.
      if (texts.size > 256) texts.clear();
      found = build();
      texts.set(shape, found);
    }
    return connection.statement(found);
  };
  const where = (names: readonly string[]) =>
    sql.join([sql`1 = 1`, ...names.map((name) => sql`${sql.ref(name)} = ${0}`)], sql` and `);
  const { without } = list;
  const shown = without ? sql` and ${sql.ref(without.column)} not in (${without.among})` : sql``;
  return {
    async rows(filters, { after, per_page }) {
      const names = given(filters as Values);
      const limit = Number.isFinite(per_page) ? sql` limit ${sql.lit(per_page + 1)}` : sql``;
      const statement = text(`${names.join()}|${after === undefined}|${per_page}`, () => {
        const from = after === undefined ? sql`` : descending ? sql` and ${key} < ${0}` : sql` and ${key} > ${0}`;
        const order = descending ? sql`desc` : sql`asc`;
        return sql`select ${columns} from ${sql.table(list.table)} where ${where(names)}${shown}${from} order by ${key} ${order}${limit}`.compile(
          engine.db,
        ).sql;
      });
      const values = names.map((name) => (filters as Values)[name]);
      return (await statement.all(after === undefined ? values : [...values, after])) as Tables[T][];
    },
    async total(filters) {
      const names = given(filters as Values);
      const count = (also: RawBuilder<unknown>) =>
        sql`(select count(*) from ${sql.table(list.table)} where ${where(names)}${also})`;
      // An index alone counts all rows; whether one is shown, only the row itself tells, so it is asked where it matters.
      const total = without
        ? sql`case when exists (${without.among}) then ${count(shown)} else ${count(sql``)} end`
        : count(sql``);
      const statement = text(`${names.join()}|total`, () => sql`select ${total} as total`.compile(engine.db).sql);
      const values = names.map((name) => (filters as Values)[name]);
      const [row] = (await statement.all(without ? [...values, ...values] : values)) as { total: number }[];
      return row?.total ?? 0;
    },
  };
}
