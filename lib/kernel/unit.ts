/** A transaction, as those see it who only hand it on: what belongs to one change is written through one of these. */
export interface Tx {
  /** Runs once the change is durable, and never where it was rolled back. */
  afterCommit(run: () => void): void;
}

/** What a request adds to its own transaction: the answer that an idempotency key will be given again. */
export interface Unit {
  readonly remember?: (tx: Tx, result: unknown) => Promise<void>;
}
