/** A transaction. All writes of one change use the same transaction. */
export interface Tx {
  /** Calls `run` once the change is durable, and never after a rollback. */
  afterCommit(run: () => void): void;
  /** Sends a message to the service's other processes right after the commit. Does nothing without other processes. */
  tell(message: string): void;
  /**
   * On PostgreSQL, transactions of an organization that share a commit also share these values, by name. They run one
   * after the other, and no other transaction of the organization runs between them. Undefined outside such a group.
   */
  readonly shared?: Map<string, Promise<unknown>> | undefined;
  /** The organization's last event before those of this group. Undefined in a single process. */
  readonly newest?: string | undefined;
  /** Locks a limit of all organizations until the commit. Take it before job rows that others add to. */
  lockLimit(limit: "deployments" | "generations" | "scenarios"): Promise<void> | undefined;
}

/**
 * What a transaction locks on PostgreSQL. On SQLite, transactions run one at a time, whatever their scope.
 *
 * - An organization, whose records the transaction changes: transactions of one organization run one after the other,
 *   and concurrently with those of others.
 * - `"rows"`: only the rows that its statements lock. It runs concurrently with all others and announces no events.
 *   Between two of its statements, the rows may change. For claims, leases, settled jobs, counters and pruning.
 * - `"all"`: excludes all others except `"rows"`. A long one blocks every organization, so `lib/README.md` lists all of
 *   them.
 */
export type TransactionScope = OrganizationScope | "rows" | "all";

/** Starts reads of a transaction, which PostgreSQL gets together with the locks. It must write nothing. */
export type Prefetch = (tx: Tx) => readonly unknown[];

export interface OrganizationScope {
  readonly organization_id: string;
  /** Whether the transaction deletes, and so may use the space reserved for a full disk. */
  readonly deletes?: boolean;
  readonly hooks?: TransactionHooks;
}

/** `before` and `after` run in each transaction of the caller, and again if it is repeated. */
export interface TransactionHooks {
  /** Starts the reads of `before` and `after`. */
  readonly prefetch?: Prefetch | undefined;
  /** Runs first in the transaction. */
  readonly before?: ((tx: Tx) => Promise<void>) | undefined;
  /** Runs last in the transaction, with the result of its work. */
  readonly after?: (tx: Tx, organization_id: string, result: unknown) => unknown;
}
