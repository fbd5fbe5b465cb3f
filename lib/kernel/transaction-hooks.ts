/** A transaction. Everything that belongs to one change is written through the same one. */
export interface Tx {
  /** Calls `run` once the change is durable, and never after a rollback. */
  afterCommit(run: () => void): void;
  /** A message to the other processes of the service, right after the commit. It does nothing where there are none. */
  tell(message: string): void;
  /**
   * The event that comes before those of this transaction, in its organization. Undefined for the first, and in a single
   * process.
   */
  readonly newest?: string | undefined;
  /**
   * Waits until no other transaction is past this point, until the commit: for a limit over all organizations. Undefined
   * where transactions run one after the other. It comes before rows of jobs that others add to.
   */
  readonly alone?: ((limit: "deployments" | "generations" | "scenarios") => Promise<void>) | undefined;
}

/** The steps that a request adds to its transaction. */
export interface TransactionHooks {
  /**
   * Runs first in the transaction. Throws if the rights of the caller were revoked since the request was authenticated.
   */
  readonly recheckRights?: (tx: Tx) => Promise<void>;
  /** Runs last in the transaction. Stores the answer that the idempotency key replays. */
  readonly storeReplay?: (tx: Tx, result: unknown) => Promise<void>;
  /**
   * The organization whose records it changes. On PostgreSQL those of others run at the same time. Without one it changes
   * those of several, and no other runs meanwhile, except those with `locksRowsOnly`.
   */
  readonly organization_id?: string;
  /** It changes only what its statements lock row by row, such as jobs, and runs beside all others. */
  readonly locksRowsOnly?: boolean;
  /** Whether the transaction deletes, and so may use the reserve of a full disk. */
  readonly deletes?: boolean;
}
