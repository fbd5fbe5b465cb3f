import { type CompiledQuery, type Expression, type Insertable, type RawBuilder, sql } from "kysely";
import type { Connection, Engine, QueryBuilder, Statement } from "./engine.ts";
import { createPages, type Pages } from "./keyset-pages.ts";
import type { List } from "./keyset-sql.ts";
import type { Tables } from "./tables.ts";

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
type Values = Readonly<Record<string, unknown>>;

/** Counting stops at this many rows, which takes a few milliseconds. */
const maxCounted = 10_000;

/** A select that can take a locking clause. */
interface Lockable {
  modifyEnd(end: RawBuilder<unknown>): this;
}

/**
 * Queries with named parameters, compiled once and run as prepared statements. Building and preparing queries at every
 * call cost two thirds of the throughput. Each connection has its own `Queries`.
 */
export interface Queries {
  all<P, R>(build: Build<P, R>): (args: P) => Promise<R[]>;
  first<P, R>(build: Build<P, R>): (args: P) => Promise<R | undefined>;
  /** A write that returns the number of changed rows. */
  change<P>(build: Build<P, unknown>): (args: P) => Promise<number>;
  /**
   * Queues a write; errors surface at the next awaited statement or at the commit. So on
   * PostgreSQL, a POST of a deployment waits once for its writes and the commit.
   */
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
  const prepare = <P>(build: Build<P, unknown>) => {
    const query: { compiled?: CompiledQuery } = shared({});
    let statement: Statement | undefined;
    return (args: P) => {
      query.compiled ??= build(engine.db, parameters as P).compile(engine.db);
      statement ??= connection.statement(query.compiled.sql);
      return [statement, bind(query.compiled.parameters, args as Values)] as const;
    };
  };
  const inserting = <T extends Table>(table: T, way: "send" | "run", more = "") => {
    const texts = shared(new Map<string, string>());
    let last = { keys: [] as readonly string[], statement: undefined as Statement | undefined };
    const prepared = (keys: readonly string[], row: Insertable<Tables[T]>) => {
      const shape = keys.join();
      const text = texts.get(shape) ?? engine.db.insertInto(table).values(row).compile().sql + more;
      texts.set(shape, text);
      const statement = connection.statement(text);
      last = { keys, statement };
      return statement;
    };
    return (row: Insertable<Tables[T]>): Promise<unknown> => {
      const keys = Object.keys(row);
      // Calls nearly always have the same columns. Comparing them takes a tenth of the time of joining them.
      const isLast = keys.length === last.keys.length && keys.every((key, i) => key === last.keys[i]);
      const statement = (isLast ? last.statement : undefined) ?? prepared(keys, row);
      return statement[way](Object.values(row));
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
        return statement.run(values);
      };
    },
    pipelined(build) {
      const prepared = prepare(build);
      return (args) => {
        const [statement, values] = prepared(args);
        return statement.send(values);
      };
    },
    count(build) {
      const prepared = prepare<Parameters<typeof build>[1]>(
        (db, parameters) =>
          sql`select count(*) as number from (select 1 from ${build(db, parameters)} as found limit ${sql.lit(maxCounted)}) as counted`,
      );
      return async (args) => {
        const [statement, values] = prepared(args);
        return ((await statement.first(values)) as { number: number }).number;
      };
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
