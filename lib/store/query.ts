import { type CompiledQuery, type Expression, type Insertable, sql } from "kysely";
import type { Connection, Engine, QueryBuilder, Statement } from "./engine.ts";
import { createPages, type List, type Pages } from "./keyset-pages.ts";
import type { Tables } from "./tables.ts";

/** Stands for a value that comes with each call. */
class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}
const named = new Proxy({}, { get: (_, name) => new Parameter(String(name)) });

/** A query of Kysely's builder, or one of `sql`. */
interface Writes<R> {
  compile(by: QueryBuilder): CompiledQuery<R>;
}
type Build<P, R> = (db: QueryBuilder, parameters: P) => Writes<R>;
type Rows<P> = (db: QueryBuilder, parameters: P) => Expression<unknown>;
type Text = keyof Tables;
type Values = Readonly<Record<string, unknown>>;

/** How far rows are counted: some milliseconds of work, and more than anybody tells apart. */
const maxCounted = 10_000;

/**
 * Queries written once, with named parameters, and run as prepared statements: building and preparing anew at every
 * call would cost two thirds of the throughput. One of these exists for each connection.
 */
export interface Queries {
  all<P, R>(build: Build<P, R>): (args: P) => Promise<R[]>;
  first<P, R>(build: Build<P, R>): (args: P) => Promise<R | undefined>;
  /** A write that answers how many rows it changed. */
  change<P>(build: Build<P, unknown>): (args: P) => Promise<number>;
  /** How many rows there are, counted as far as 10,000: others wait for their turn meanwhile. */
  count<P>(build: Rows<P>): (args: P) => Promise<number>;
  /** Inserts rows by their own keys, so that a column is named in one place only. */
  insert<T extends Text>(table: T): (row: Insertable<Tables[T]>) => Promise<unknown>;
  /** A list in the order of one key, in pages, of the rows whose columns equal what is given. */
  pages<T extends Text>(list: List<T>): Pages<T>;
}

/** What was written for a repository, in the order of its queries, which is always the same. */
export type CompiledQueries = object[];

/** `written` is shared by all stores of a process, so that each text is written once and not once a service. */
export function createQueries(engine: Engine, connection: Connection, written: CompiledQueries = []): Queries {
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
      text.compiled ??= build(engine.db, named as P).compile(engine.db);
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
        return statement.run(values);
      };
    },
    count(build) {
      const prepared = prepare<Parameters<typeof build>[1]>(
        (db, parameters) =>
          sql`select count(*) as number from (select 1 from ${build(db, parameters)} limit ${sql.lit(maxCounted)}) as counted`,
      );
      return async (args) => {
        const [statement, values] = prepared(args);
        return ((await statement.first(values)) as { number: number }).number;
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
        return statement.run(Object.values(row));
      };
    },
    pages: (list) => createPages(engine, connection, list, own(new Map())),
  };
}

/** A value for each place of the text; what Kysely bound itself stays as it is. */
function bind(parameters: readonly unknown[], args: Values): unknown[] {
  return parameters.map((parameter) => {
    if (!(parameter instanceof Parameter)) return parameter;
    const value = args[parameter.name];
    if (value === undefined) throw new Error(`the query needs the parameter ${parameter.name}`);
    return value;
  });
}
