import { type CompiledQuery, type Expression, type Insertable, type RawBuilder, sql, TableNode } from "kysely";
import type { Connection, Engine, QueryBuilder, Statement, StatementUse } from "./engine.ts";
import { createPages, type Pages } from "./keyset-pages.ts";
import type { List } from "./keyset-sql.ts";
import type { Row, Tables } from "./tables.ts";

/** A placeholder for a value that is given at each call. */
class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  /** Throws: a query is built only once, so a text made from a parameter would be the same at every call. */
  [Symbol.toPrimitive](): never {
    throw new Error(`the parameter ${this.name} has no value yet: join texts in SQL`);
  }
}
const parameters = new Proxy({}, { get: (_, name) => new Parameter(String(name)) });

/** A query of the query builder or of Kysely's `sql`. */
interface Compilable<R> {
  compile(by: QueryBuilder): CompiledQuery<R>;
}
type Build<P, R> = (db: QueryBuilder, parameters: P) => Compilable<R>;
type Rows<P> = (db: QueryBuilder, parameters: P) => Expression<unknown>;
type Table = keyof Tables;
type Column<T extends Table> = keyof Row<T> & string;
type Values = Readonly<Record<string, unknown>>;

/** Counting stops at this many rows, which takes a few milliseconds. */
const maxCounted = 10_000;

/**
 * The tables whose rows the transactions of a group may share. Most writes of an organization read them, and only its
 * own transactions change them, except for columns and expired rows that make no difference to others.
 */
export const sharedTables: ReadonlySet<string> = new Set<Table>([
  ...(["projects", "removals", "environments", "endpoints"] as const),
  ...(["users", "api_keys", "sessions"] as const),
]);

/** The table that a query writes. Undefined if unknown: a text of `sql` may change any. */
function writtenTable({ query }: CompiledQuery): string | undefined {
  const table =
    (query.kind === "InsertQueryNode" && query.into) ||
    (query.kind === "UpdateQueryNode" && query.table) ||
    (query.kind === "DeleteQueryNode" && query.from.froms[0]);
  return table && TableNode.is(table) ? table.table.identifier.name : undefined;
}

/** How a query uses rows. */
export function useOf(compiled: CompiledQuery): StatementUse {
  const { query } = compiled;
  // Only `locked` and `unlocked` add to the end of a select.
  if (query.kind === "SelectQueryNode") return { mayWrite: query.endModifiers !== undefined };
  const table = writtenTable(compiled);
  return { mayWrite: true, changesShared: table === undefined || sharedTables.has(table) };
}

/** A select that can take a locking clause. */
interface Lockable {
  modifyEnd(end: RawBuilder<unknown>): this;
}

/**
 * Queries with named parameters, compiled once and run as prepared statements. Building and preparing queries at every
 * call would cost two thirds of the throughput. Each connection has its own `Queries`.
 */
export interface Queries {
  all<P, R>(build: Build<P, R>, sharing?: "shared"): (args: P) => Promise<R[]>;
  /** `shared`: on PostgreSQL, the transactions of a group read the same rows once. They must be of `sharedTables`. */
  first<P, R>(build: Build<P, R>, sharing?: "shared"): (args: P) => Promise<R | undefined>;
  /** The row that has these values in the columns `by`. */
  find<T extends Table, By extends Column<T>>(
    table: T,
    by: readonly By[],
    sharing?: "shared",
  ): (args: Pick<Row<T>, By>) => Promise<Row<T> | undefined>;
  /** Sets `columns` of the row that has these values in the columns `by`, and returns the row. */
  update<T extends Table, By extends Column<T>, Set extends Column<T>>(
    table: T,
    by: readonly By[],
    columns: readonly Set[],
  ): (args: Pick<Row<T>, By | Set>) => Promise<Row<T> | undefined>;
  /** A write that returns the number of changed rows. */
  change<P>(build: Build<P, unknown>): (args: P) => Promise<number>;
  /** Queues a write; its error surfaces at the next awaited statement or at the commit. */
  pipelined<P>(build: Build<P, unknown>): (args: P) => Promise<unknown>;
  /** Counts rows up to 10,000, because counting blocks the event loop. */
  count<P>(build: Rows<P>): (args: P) => Promise<number>;
  /** Inserts a row, an object with column names as keys. */
  insert<T extends Table>(table: T): (row: Insertable<Tables[T]>) => Promise<unknown>;
  /** As `insert`, but keeps an existing row. */
  insertOnce<T extends Table>(table: T): (row: Insertable<Tables[T]>) => Promise<unknown>;
  /** As `insert`, but awaits the result: rejects if the row exists (`Engine.isDuplicate`). */
  insertUnique<T extends Table>(table: T): (row: Insertable<Tables[T]>) => Promise<unknown>;
  /** A column's instant plus a signed number of seconds. */
  later(column: string, seconds: string): RawBuilder<string>;
  /** Locks the selected rows until the commit, and skips rows that another transaction has locked. */
  unlocked<Q extends Lockable>(rows: Q): Q;
  /** Locks the selected rows until the commit, and waits for locks of other transactions. */
  locked<Q extends Lockable>(rows: Q): Q;
  /** A list in pages, ordered by one key. */
  pages<T extends Table>(list: List<T>): Pages<T>;
}

/** The compiled queries of a repository, in order of declaration. */
export type CompiledQueries = object[];

/** `compiled` is shared by all stores of a process, so that each query is compiled once. */
export function createQueries(engine: Engine, connection: Connection, compiled: CompiledQueries = []): Queries {
  let count = 0;
  const shared = <T extends object>(initial: T): T => {
    const index = count++;
    compiled[index] ??= initial;
    return compiled[index] as T;
  };
  const prepared = <P>(way: keyof Statement, build: Build<P, unknown>, use?: StatementUse) => {
    const query: { compiled?: CompiledQuery } = shared({});
    let statement: Statement | undefined;
    return (args: P): Promise<never> => {
      query.compiled ??= build(engine.db, parameters as P).compile(engine.db);
      statement ??= connection.statement(query.compiled.sql, use ?? useOf(query.compiled));
      return statement[way](bind(query.compiled.parameters, args as Values)) as Promise<never>;
    };
  };
  const inserting = <T extends Table>(table: T, way: "send" | "run", more = "") => {
    const shapes = shared(new Map<string, (rows: number) => string>());
    /** The texts of inserts with these columns, by their number of rows. */
    const textsFor = (columns: readonly string[]) => {
      const row = Object.fromEntries(columns.map((name) => [name, null])) as unknown as Insertable<Tables[T]>;
      const texts: string[] = [];
      return (rows: number): string =>
        (texts[rows] ??= engine.db.insertInto(table).values(new Array(rows).fill(row)).compile().sql + more);
    };
    const statements = new Map<string, Statement>();
    const prepare = (columns: readonly string[], shape: string): Statement => {
      const texts = shapes.get(shape) ?? textsFor(columns);
      shapes.set(shape, texts);
      const ofRows = way === "send" && more === "" ? texts : undefined;
      return connection.statement(texts(1), { changesShared: sharedTables.has(table), ofRows });
    };
    return (row: Insertable<Tables[T]>): Promise<unknown> => {
      const columns = Object.keys(row);
      const shape = columns.join();
      const statement = statements.get(shape) ?? prepare(columns, shape);
      statements.set(shape, statement);
      return statement[way](Object.values(row));
    };
  };
  return {
    all: (build, sharing) => prepared("all", build, sharing && { isShared: true }),
    first: (build, sharing) => prepared("first", build, sharing && { isShared: true }),
    find: (table, by, sharing) =>
      prepared<Values>(
        "first",
        (db, p) =>
          db
            .selectFrom(table as Table)
            .selectAll()
            .where(equal(p, ...by)),
        sharing && { isShared: true },
      ),
    update: (table, by, columns) =>
      prepared<Values>("first", (db, p) => {
        const values = Object.fromEntries(columns.map((column) => [column, p[column]]));
        return db
          .updateTable(table as Table)
          .set(values)
          .where(equal(p, ...by))
          .returningAll();
      }),
    change: (build) => prepared("run", build),
    pipelined: (build) => prepared("send", build),
    count(build) {
      const read = prepared<Parameters<typeof build>[1]>(
        "first",
        (db, parameters) =>
          sql`select count(*) as number from (select 1 from ${build(db, parameters)} as found limit ${sql.lit(maxCounted)}) as counted`,
        {},
      );
      return async (args) => ((await read(args)) as { number: number }).number;
    },
    insert: (table) => inserting(table, "send"),
    insertOnce: (table) => inserting(table, "send", " on conflict do nothing"),
    insertUnique: (table) => inserting(table, "run"),
    later: (column, seconds) => engine.later(sql.ref(column), sql.val(seconds)),
    unlocked: (rows) => (engine.hasRowLocks ? rows.modifyEnd(sql`for update skip locked`) : rows),
    locked: (rows) => (engine.hasRowLocks ? rows.modifyEnd(sql`for update`) : rows),
    pages: (list) => createPages(engine, connection, list, shared(new Map())),
  };
}

/** The condition that columns are equal to the parameters with their names. */
export const equal = <P extends object>(parameters: P, ...columns: (keyof P & string)[]) =>
  sql<boolean>`(${sql.join(
    columns.map((column) => sql`${sql.ref(column)} = ${parameters[column]}`),
    sql` and `,
  )})`;

/** A new `updated_at`: never earlier than the stored one, even if the machine's clock was set back. */
export const notEarlier = (stored: "updated_at", at: string) =>
  sql<string>`case when ${sql.ref(stored)} > ${at} then ${sql.ref(stored)} else ${at} end`;

/** Replaces placeholders by their values. Values that Kysely bound stay as they are. */
function bind(parameters: readonly unknown[], args: Values): unknown[] {
  return parameters.map((parameter) => {
    if (!(parameter instanceof Parameter)) return parameter;
    const value = args[parameter.name];
    if (value === undefined) throw new Error(`the query needs the parameter ${parameter.name}`);
    return value;
  });
}
