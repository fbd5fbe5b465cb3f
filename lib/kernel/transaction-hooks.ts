/** A transaction. Everything that belongs to one change is written through the same one. */
export interface Tx {
  /** Calls `run` once the change is durable, and never after a rollback. */
  afterCommit(run: () => void): void;
  /** A message to the other processes of the service, right after the commit. It does nothing where there are none. */
  tell(message: string): void;
  /**
   * The transactions that one commit makes durable, one after the other; on PostgreSQL, those of an organization. No
   * transaction of another process runs between them. Undefined if this is unknown.
   */
  readonly group?: { readonly organization_id?: string } | undefined;
  /**
   * The event that comes before those of its group, in its organization. Undefined for the first, and in a single
   * process.
   */
  readonly newest?: string | undefined;
  /**
   * Takes a lock for a limit over all organizations, and holds it until the commit. Undefined where transactions run
   * one after the other. Take it before locking rows of jobs that others add to.
   */
  readonly lockLimit?: ((limit: "deployments" | "generations" | "scenarios") => Promise<void>) | undefined;
}

/**
 * What a transaction locks on PostgreSQL. On SQLite each runs alone, whatever its scope.
 *
 * - An organization, whose records it changes: its transactions run one after the other, and beside those of others.
 * - `"rows"`: what its statements lock, row by row. It runs beside all others and announces no events: nothing that one of its
 *   statements read is still true at the next one. For claims, leases, settled jobs, counters and pruning.
 * - `"all"`: no other runs meanwhile, but for those of `"rows"`. One that takes long holds up every organization, so
 *   `lib/README.md` lists all of them.
 */
export type TransactionScope = OrganizationScope | "rows" | "all";

/** An organization, and the steps that a request adds to its transaction. */
export interface OrganizationScope {
  readonly organization_id: string;
  /**
   * Runs first in the transaction. Throws if the rights of the caller were revoked since the request was authenticated.
   */
  readonly recheckRights?: (tx: Tx) => Promise<void>;
  /** Runs after the work of the transaction. Adds the entry of the audit log, once for all transactions of the request. */
  readonly recordChange?: (tx: Tx, organization_id: string, result: unknown) => unknown;
  /** Runs last in the transaction. Stores the answer that the idempotency key replays. */
  readonly storeReplay?: (tx: Tx, result: unknown) => Promise<void>;
  /** Whether the transaction deletes, and so may use the reserve of a full disk. */
  readonly deletes?: boolean;
}
