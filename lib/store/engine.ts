import type { QueryCreator, QueryExecutorProvider } from "kysely";
import type { Tables } from "./tables.ts";

/** A prepared statement, with positional parameters. */
export interface Statement {
  all(parameters: readonly unknown[]): Promise<unknown[]>;
  /** The first row, where there is one. */
  first(parameters: readonly unknown[]): Promise<unknown>;
  /** Runs a write and answers how many rows it changed. */
  run(parameters: readonly unknown[]): Promise<number>;
}

/** What of Kysely writes queries. */
export type QueryBuilder = QueryCreator<Tables> & QueryExecutorProvider;

/** A line to the database: one and the same on SQLite, one of a pool on PostgreSQL. */
export interface Connection {
  statement(sql: string): Statement;
}

/**
 * The seam between the engines. It lies below the query builder, so repositories are written once: Kysely writes each
 * text once, the engine runs it as a prepared statement.
 */
export interface Engine {
  readonly name: "sqlite" | "postgres";
  /** Writes SQL; it never runs any. */
  readonly db: QueryBuilder;
  /** For reads outside a transaction. A write through it is refused. */
  readonly connection: Connection;
  /** Runs `work` alone, durable when the promise resolves, undone where it throws. Only the store may be awaited in it. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Runs `work`, which awaits nothing, between two transactions: it sees what is committed and nothing half done. */
  betweenTransactions<T>(work: () => T): Promise<T>;
  /** What changes whenever another process has written to the database, as the present transaction or turn sees it. */
  dataVersion(): number;
  /** Bytes that the database takes, without its log. */
  size(): number;
  /** Whether a unique rule was broken. */
  isDuplicate(error: unknown): boolean;
  /** Every text that was prepared, for the test that looks at the query plans. */
  preparedSql(): string[];
  close(): Promise<void>;
}
