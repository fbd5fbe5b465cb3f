import type { Tx, Unit } from "../kernel/unit.ts";
import type { Connection, Engine } from "./engine.ts";
import { createQueries, type Queries } from "./query.ts";

/** A repository is made once for each connection, from the queries that this connection runs. */
export type RepositoryOf<R> = (queries: Queries) => R;

/**
 * What services know of the store.
 *
 * `using` gives a function: `projects(tx)` is the repository within a transaction, `projects()` reads outside of one.
 */
export interface Store {
  using<R extends object>(repository: RepositoryOf<R>): (tx?: Tx) => R;
  /**
   * Everything that `work` writes is stored together and durable when the promise resolves, or nothing is. Many
   * requests share one commit. `work` awaits nothing but the store. `by` adds what the request itself stores with it.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, by?: Unit): Promise<T>;
  readonly engine: Engine;
  close(): Promise<void>;
}

class Transaction implements Tx {
  readonly connection: Connection;
  readonly after: (() => void)[] = [];
  open = true;
  constructor(connection: Connection) {
    this.connection = connection;
  }
  afterCommit(run: () => void): void {
    this.after.push(run);
  }
}

export function createStore(engine: Engine): Store {
  const made = new WeakMap<Connection, { queries: Queries; repositories: Map<unknown, object> }>();
  const of = <R extends object>(connection: Connection, repository: RepositoryOf<R>): R => {
    let known = made.get(connection);
    if (!known) {
      known = {
        queries: createQueries(engine, connection),
        repositories: new Map(),
      };
      made.set(connection, known);
    }
    let found = known.repositories.get(repository);
    if (!found) {
      found = repository(known.queries);
      known.repositories.set(repository, found);
    }
    return found as R;
  };
  return {
    engine,
    using: (repository) => (tx) => {
      if (!tx) return of(engine.connection, repository);
      if (!(tx instanceof Transaction) || !tx.open) throw new Error("this transaction is over");
      return of(tx.connection, repository);
    },
    async transaction(work, by) {
      let tx: Transaction | undefined;
      const result = await engine.transaction(async (connection) => {
        tx = new Transaction(connection);
        try {
          await by?.confirm?.(tx);
          const value = await work(tx);
          await by?.remember?.(tx, value);
          return value;
        } finally {
          tx.open = false;
        }
      });
      for (const run of tx?.after ?? []) run();
      return result;
    },
    close: () => engine.close(),
  };
}
