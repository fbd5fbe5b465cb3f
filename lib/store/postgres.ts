import { DefaultQueryExecutor, PostgresAdapter, PostgresQueryCompiler, QueryCreator } from "kysely";
import type { ClientConfig, QueryResult } from "pg";
import type { QueryBuilder } from "./engine.ts";
import type { Tables } from "./tables.ts";

/** Kysely compiles SQL here. It has no connection to run it on. */
const executor = new DefaultQueryExecutor(new PostgresQueryCompiler(), new PostgresAdapter(), {
  provideConnection: () => Promise.reject(new Error("Kysely has no connection here; run prepared statements")),
});

export const queryBuilder: QueryBuilder = Object.assign(new QueryCreator<Tables>({ executor }), {
  getExecutor: () => executor,
});

/** Loads the driver, which is no dependency of the package: few users need it. */
export async function loadDriver() {
  try {
    const loaded = await import("pg");
    return loaded.default;
  } catch (cause) {
    throw new Error('the package pg is not installed. Run "npm install pg".', { cause });
  }
}

/** bigint, smallint, integer, oid, real, double precision and numeric. */
const numbers = [20, 21, 23, 26, 700, 701, 1700];
const boolean = 16;
/** The value of a type, by its number, from PostgreSQL's text. */
const parserOf = (type: number) => (text: string) =>
  numbers.includes(type) ? Number(text) : type === boolean ? text === "t" : text;

export const limits = {
  connect_ms: 5_000,
  /** The server ends a statement, and we no longer wait for its answer. */
  statement_ms: 20_000,
  answer_ms: 30_000,
  /** The server ends a transaction of a process that hangs. */
  idle_ms: 30_000,
};

/** What a connection is for. */
const settings = {
  transactions: {},
  // A write outside of a transaction is refused: each would be a commit of its own, and a change could stay half done.
  reads: { options: "-c default_transaction_read_only=on" },
  // No request waits for the disk of the database.
  counters: { options: "-c synchronous_commit=off" },
};

/** The settings of every connection. `PG*` variables fill what the URL leaves out. */
export const connectionConfig = (url: string, name: string, use: keyof typeof settings): ClientConfig => ({
  connectionString: url,
  application_name: name,
  connectionTimeoutMillis: limits.connect_ms,
  statement_timeout: limits.statement_ms,
  query_timeout: limits.answer_ms,
  idle_in_transaction_session_timeout: limits.idle_ms,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  client_encoding: "UTF8",
  ...settings[use],
  types: { getTypeParser: parserOf } as never,
});

/** As many statements are prepared in a connection; others are parsed at each run. */
const mostNamed = 512;
const names = new Map<string, string>();

/** A query of `pg`. Statements have the same names in all connections of the process. */
export function queryOf(text: string, values: readonly unknown[]) {
  let name = names.get(text);
  if (name === undefined && names.size < mostNamed) {
    name = `s${names.size}`;
    names.set(text, name);
  }
  return { ...(name !== undefined && { name }), text, values: values.map(storable) };
}

/** PostgreSQL stores no U+0000. Callers cannot send one; receivers and programs can answer with it. */
export const storable = <T>(value: T) =>
  typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;

/** A connection of `pg`, or a pool of them. */
export interface Runner {
  query(query: string | ReturnType<typeof queryOf>): Promise<QueryResult<Record<string, unknown>>>;
}
