import type { Expression, QueryCreator, QueryExecutorProvider, RawBuilder } from "kysely";
import type { OrganizationScope, Tx } from "../kernel/transaction-hooks.ts";
import type { Violation } from "./invariants.ts";
import type { Tables } from "./tables.ts";
import type { Obstacle, Watcher } from "./write-failure.ts";

/** A prepared statement, with positional parameters. */
export interface Statement {
  all(parameters: readonly unknown[]): Promise<unknown[]>;
  /** The first row; undefined for none. */
  first(parameters: readonly unknown[]): Promise<unknown>;
  /** Runs a write and returns the number of changed rows. */
  run(parameters: readonly unknown[]): Promise<number>;
  /** Queues a write. On PostgreSQL, its error surfaces at the next awaited statement or at the commit. */
  send(parameters: readonly unknown[]): Promise<unknown>;
}

/** What PostgreSQL needs to know of a statement, apart from its text. SQLite needs nothing. */
export interface StatementUse {
  /** Whether it may write or lock rows. A statement that runs with `run` or `send` always may. */
  readonly mayWrite?: boolean;
  /** Whether the transactions of a group may share the rows that it reads. */
  readonly isShared?: boolean;
  /** Whether it may change rows that the transactions of a group share. */
  readonly changesShared?: boolean;
  /** For an insert of one row: returns the SQL that inserts this many rows. */
  readonly ofRows?: ((rows: number) => string) | undefined;
}

/** The part of Kysely that builds queries. */
export type QueryBuilder = QueryCreator<Tables> & QueryExecutorProvider;

/** A connection to the database: always the same one on SQLite, one of a pool on PostgreSQL. */
export interface Connection {
  statement(sql: string, use?: StatementUse): Statement;
  /** Within a transaction: sends a message to the other processes of the database, right after the commit. */
  readonly tell?: (message: string) => void;
  /**
   * Within a transaction: the id of the newest event, from any process, of its organization or of all. The first event
   * of the transaction directly follows it. Undefined if there is none.
   */
  readonly newest?: string | undefined;
  /** Within a transaction: as `Tx.shared`. */
  readonly shared?: Tx["shared"];
  /** Within a transaction: as `Tx.lockLimit`. Undefined if transactions run one at a time. */
  readonly lockLimit?: Tx["lockLimit"];
}

/** Sends reads on the connection of a transaction (`Prefetch` of the kernel). */
export type SendReads = (connection: Connection) => Promise<unknown>;

/** The locks and the reserve that a transaction may use: `TransactionScope` without its hooks. */
export type EngineScope = Pick<OrganizationScope, "organization_id" | "deletes"> | "rows" | "all";

/** What the processes of one database share besides its rows. */
export interface Cluster {
  /** Milliseconds since 1970 by the database's clock. Work is scheduled by it: the clocks of processes may differ. */
  now(): number;
  /** For single-statement writes outside transactions. A crash of the database may lose the last ones. */
  readonly counters: Connection;
  /** Calls `follow` at the start of each transaction with its organization's newest event, from any process. */
  onNewest(follow: (id: string) => void): void;
  /**
   * `hear` receives messages of other processes, in commit order within an organization. `lost` is called when some may
   * be missing. Messages are only hints: the rows are authoritative.
   */
  listen(hear: (message: string) => void, lost: () => void): Promise<void>;
}

/**
 * The interface between the store and a database engine. It lies below the query builder, so repositories are written
 * once for all engines: Kysely writes each SQL text once, and the engine runs it as a prepared statement.
 */
export interface Engine {
  readonly name: "sqlite" | "postgres";
  /** Writes SQL; it never runs any. */
  readonly db: QueryBuilder;
  /** Whether transactions run concurrently, and therefore lock rows. */
  readonly hasRowLocks: boolean;
  /** SQL that adds a signed number of seconds to an instant. Both arguments are text. */
  later(instant: Expression<unknown>, seconds: Expression<unknown>): RawBuilder<string>;
  /**
   * SQL that returns a row as JSON, with the same bytes as JSON.stringify. Optional columns that are null are omitted,
   * and the columns in `json` hold JSON. Undefined if this is no faster than reading columns.
   */
  readonly jsonOf?: (
    columns: readonly string[],
    optional: readonly string[],
    json: readonly string[],
  ) => RawBuilder<string>;
  /** For reads outside a transaction. Writes through it are refused. */
  readonly connection: Connection;
  /**
   * Runs `work` isolated from the other transactions of its organization, or from all. When the promise resolves, its
   * writes are durable; if `work` throws, they are rolled back. `work` may await only the store. It may run again after
   * a rollback, so it must have no effects besides its rows. A transaction of `"all"` waits for all earlier ones of
   * this process, and later ones wait for it, except those of `"rows"` on PostgreSQL. `prefetch` runs after the locks
   * are requested, and does not wait for them.
   */
  transaction<T>(scope: EngineScope, work: (connection: Connection) => Promise<T>, prefetch?: SendReads): Promise<T>;
  /**
   * A number that changes with every commit of another process that the current transaction or snapshot can see. It
   * also changes on a rollback of rows that a read may have seen. NaN, which equals nothing, if unknown.
   */
  foreignCommitVersion(): number;
  /** The size of the database in bytes, without its write-ahead log. */
  size(): Promise<number>;
  /** The size of the write-ahead log in bytes; 0 for a database in memory. */
  logSize(): number;
  /** Whether a statement or a transaction waits for the database. SQLite answers within a few turns of the event loop. */
  isBusy(): boolean;
  /** Whether the error is a unique-constraint violation. */
  isDuplicate(error: unknown): boolean;
  /** Every prepared statement, for the test of query plans. */
  preparedSql(): string[];
  /** Why writes are stopped; undefined while they work. */
  readonly obstacle: Obstacle | undefined;
  /** Sets the watcher, replacing the previous one. */
  watch(watcher: Watcher): void;
  /**
   * Called when the start is complete: from now on, only deletes may use the reserve of a full disk. Returns false if
   * there is no room for the reserve and no error was reported about it.
   */
  started(): boolean;
  close(): Promise<void>;
}

/** An opened database, before a store is created on it. */
export interface OpenDatabase {
  readonly engine: Engine;
  /** Whether this call created the database. */
  readonly created: boolean;
  /** A sentence that says which files are current after an interrupted restore. */
  readonly warning?: string | undefined;
  /** Undefined if only one process can use the database. */
  readonly cluster?: Cluster;
  /** Undefined if the engine does not support snapshots and forks. */
  readonly images?: Images;
  /** Checks the rules of the store; rejects once `signal` is aborted. */
  violations(signal: AbortSignal): Promise<readonly Violation[]>;
  /** Unlocks the database for other processes. */
  release(): void;
}

/** Takes and restores images: copies of the whole database as bytes, which never change. */
export interface Images {
  /** Runs synchronous `work` between transactions, so that it sees only committed rows. */
  between<T>(work: () => T): Promise<T>;
  take(): Buffer;
  /** Replaces all rows with those of an image: in place for a file; in memory, by opening a new database. */
  replace(image: Buffer): OpenDatabase;
}
