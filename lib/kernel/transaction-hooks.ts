/** A transaction, as those see it who only hand it on: what belongs to one change is written through one of these. */
export interface Tx {
  /** Runs once the change is durable, and never where it was rolled back. */
  afterCommit(run: () => void): void;
}

/** What a request adds to its own transaction. */
export interface TransactionHooks {
  /** Asked first in the transaction: rights that were withdrawn while the request arrived must not be used. */
  readonly recheckRights?: (tx: Tx) => Promise<void>;
  /** The answer that an idempotency key will be given again. */
  readonly storeReplay?: (tx: Tx, result: unknown) => Promise<void>;
}
