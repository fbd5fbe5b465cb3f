import { Problem } from "../kernel/errors.ts";
import type { TransactionHooks, Tx } from "../kernel/transaction-hooks.ts";
import type { Connection, Engine } from "./engine.ts";
import { type CompiledQueries, createQueries, type Queries } from "./query.ts";

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
  transaction<T>(work: (tx: Tx) => Promise<T>, by?: TransactionHooks): Promise<T>;
  /** From now on nothing is read or written through it, whoever still holds it: another store has taken its place. */
  retire(): void;
  readonly retired: boolean;
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

const replaced = () =>
  new Problem("unavailable", "the state of the service was replaced meanwhile; send the request again", {
    headers: { "retry-after": "1" },
  });

const closed = () => new Error("the service is closed; make a new one");

const texts: Record<Engine["name"], WeakMap<object, CompiledQueries>> = {
  sqlite: new WeakMap(),
  postgres: new WeakMap(),
};
function writtenFor({ name }: Engine, repository: RepositoryOf<object>): CompiledQueries {
  const written = texts[name].get(repository) ?? [];
  texts[name].set(repository, written);
  return written;
}

export function createStore(engine: Engine): Store {
  /** Why nothing is read or written any more. */
  let over: (() => Error) | undefined;
  const made = new WeakMap<Connection, Map<unknown, object>>();
  const of = <R extends object>(connection: Connection, repository: RepositoryOf<R>): R => {
    let known = made.get(connection);
    if (!known) {
      known = new Map();
      made.set(connection, known);
    }
    let found = known.get(repository);
    if (!found) {
      // A list is read in several turns, and looks its statements up in each: so it is asked here, too.
      const statement = (text: string) => {
        if (over) throw over();
        return connection.statement(text);
      };
      found = repository(createQueries(engine, { statement }, writtenFor(engine, repository)));
      known.set(repository, found);
    }
    return found as R;
  };
  return {
    engine,
    using: (repository) => (tx) => {
      if (over) throw over();
      if (!tx) return of(engine.connection, repository);
      if (!(tx instanceof Transaction) || !tx.open) throw new Error("this transaction is over");
      return of(tx.connection, repository);
    },
    async transaction(work, by) {
      if (over) throw over();
      let tx: Transaction | undefined;
      const result = await engine.transaction(async (connection) => {
        if (over) throw over();
        tx = new Transaction(connection);
        try {
          if (by?.recheckRights) await by.recheckRights(tx);
          const value = await work(tx);
          if (by?.storeReplay) await by.storeReplay(tx, value);
          return value;
        } finally {
          tx.open = false;
        }
      });
      for (const run of tx?.after ?? []) run();
      return result;
    },
    retire() {
      over = replaced;
    },
    get retired() {
      return over === replaced;
    },
    async close() {
      await engine.close();
      over ??= closed;
    },
  };
}
