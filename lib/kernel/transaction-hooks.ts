/** A transaction. Everything that belongs to one change is written through the same one. */
export interface Tx {
  /** Calls `run` once the change is durable, and never after a rollback. */
  afterCommit(run: () => void): void;
  /** A message to the other processes of the service, which arrives with the commit. It does nothing where there are none. */
  tell(message: string): void;
  /** The event of the service that comes before those of this transaction. Undefined for the first, and in a single process. */
  readonly newest?: string | undefined;
}

/** The steps that a request adds to its transaction. */
export interface TransactionHooks {
  /**
   * Runs first in the transaction. Throws if the rights of the caller were revoked since the request was authenticated.
   */
  readonly recheckRights?: (tx: Tx) => Promise<void>;
  /** Runs last in the transaction. Stores the answer that the idempotency key replays. */
  readonly storeReplay?: (tx: Tx, result: unknown) => Promise<void>;
  /** Whether the transaction deletes, and so may use the reserve of a full disk. */
  readonly deletes?: boolean;
}
