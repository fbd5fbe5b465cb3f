import type { Expression, QueryCreator, QueryExecutorProvider, RawBuilder } from "kysely";
import type { OrganizationScope, Tx } from "../kernel/transaction-hooks.ts";
import type { Violation } from "./invariants.ts";
import type { Watcher } from "./recovery.ts";
import type { Tables } from "./tables.ts";
import type { Obstacle } from "./write-failure.ts";

/** A prepared statement, with positional parameters. */
export interface Statement {
  all(parameters: readonly unknown[]): Promise<unknown[]>;
  /** The first row; undefined for none. */
  first(parameters: readonly unknown[]): Promise<unknown>;
  /** Runs a write and answers how many rows it changed. */
  run(parameters: readonly unknown[]): Promise<number>;
  /**
   * Queues a write. On PostgreSQL nobody waits for it within a transaction; its error surfaces at the next awaited statement,
   * or at the commit.
   */
  send(parameters: readonly unknown[]): Promise<unknown>;
}

/** The part of Kysely that builds queries. */
export type QueryBuilder = QueryCreator<Tables> & QueryExecutorProvider;

/** A connection to the database: always the same one on SQLite, one of a pool on PostgreSQL. */
export interface Connection {
  statement(sql: string): Statement;
  /** Within a transaction: a message to the other processes of the database, which leaves right after the commit. */
  readonly tell?: (message: string) => void;
  /**
   * Within a transaction: the newest event of its organization in any process, or of all organizations. No other event comes
   * between it and the first one of the transaction. Undefined if there is none.
   */
  readonly newest?: string | undefined;
  /** Within a transaction: as `Tx.group`. */
  readonly group?: Tx["group"];
  /** Within a transaction; undefined where each runs alone anyway. */
  readonly lockLimit?: NonNullable<Tx["lockLimit"]>;
}

/** What a transaction locks, and what it may use: `TransactionScope` without the steps of a request. */
export type EngineScope = Pick<OrganizationScope, "organization_id" | "deletes"> | "rows" | "all";

/** What the processes of one database share beside its rows. */
export interface Cluster {
  /** Milliseconds since 1970 by the clock of the database. Processes order their work by it, whatever their machines show. */
  now(): number;
  /** Writes of one statement each, outside of transactions. A crash of the database may forget the last of them. */
  readonly counters: Connection;
  /** Calls `follow` at the start of each transaction with the newest event of its organization, of all processes. */
  onNewest(follow: (id: string) => void): void;
  /**
   * `hear` gets the messages of other processes, in commit order within an organization. `lost` is called when some may
   * be missing: messages are hints, and rows are the truth.
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
  /** Whether transactions run at the same time, and so lock rows. */
  readonly hasRowLocks: boolean;
  /** The SQL of an instant that is moved by a signed number of seconds, both texts. */
  later(instant: Expression<unknown>, seconds: Expression<unknown>): RawBuilder<string>;
  /**
   * The SQL of a row as JSON, in the bytes of JSON.stringify. The last column is left out where it is null. Undefined
   * if rows arrive as fast.
   */
  readonly jsonOf?: (columns: readonly string[], optional: string | undefined) => RawBuilder<string>;
  /** For reads outside a transaction. A write through it is refused. */
  readonly connection: Connection;
  /**
   * Runs `work` isolated from all other transactions of its organization, or from all. Its writes are durable when the
   * promise resolves, and rolled back when `work` throws. `work` may await the store only, and may run again after a
   * rollback, so it changes rows only. A transaction of `"all"` runs after all that this process began before it, and
   * before all later ones.
   */
  transaction<T>(scope: EngineScope, work: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * A number that changes with every commit of another process, as the current transaction or snapshot sees it. It also changes
   * when rows are undone that a read may have seen. NaN, which equals nothing, if that cannot be known.
   */
  foreignCommitVersion(): number;
  /** The size of the database in bytes, without its write-ahead log. */
  size(): Promise<number>;
  /** The size of the write-ahead log in bytes; 0 in memory. */
  logSize(): number;
  /** Whether the error is a violated unique constraint. */
  isDuplicate(error: unknown): boolean;
  /** Every statement that was prepared, for the test of the query plans. */
  preparedSql(): string[];
  /** The reason why writes stop; undefined while they work. */
  readonly obstacle: Obstacle | undefined;
  /** There is one watcher; a later one replaces it. */
  watch(watcher: Watcher): void;
  /**
   * The start is complete: from now on only deletes may use the reserve of a full disk. Answers whether the disk has room for
   * that reserve.
   */
  started(): boolean;
  close(): Promise<void>;
}

/** An open database, before a store is made on it. */
export interface OpenDatabase {
  readonly engine: Engine;
  /** Whether this call created it. */
  readonly created: boolean;
  /** Which files count after a restore that was interrupted, as a sentence. */
  readonly warning?: string | undefined;
  /** Undefined if the database has one process. */
  readonly cluster?: Cluster;
  /** Undefined where the engine has no snapshots and forks. */
  readonly images?: Images;
  /** Checks the rules of the store; rejects once `signal` is aborted. */
  violations(signal: AbortSignal): Promise<readonly Violation[]>;
  /** Unlocks the database for other processes. */
  release(): void;
}

/** A database as bytes. Images never change. */
export interface Images {
  /** Runs synchronous `work` between two transactions, so that it sees committed rows only. */
  between<T>(work: () => T): Promise<T>;
  /** The current rows, as the image of a database in memory. */
  take(): Buffer;
  /** Takes the rows of an image: a file has its rows replaced, in memory a new database is opened. */
  replace(image: Buffer): OpenDatabase;
}
