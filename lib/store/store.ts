import { Problem } from "../kernel/errors.ts";
import type { Prefetch, TransactionScope, Tx } from "../kernel/transaction-hooks.ts";
import type { Connection, Engine } from "./engine.ts";
import { type CompiledQueries, createQueries, type Queries } from "./query.ts";

/** Creates a repository from the queries of a connection. Called once for each connection. */
export type RepositoryOf<R> = (queries: Queries) => R;

/**
 * The store, as services see it.
 *
 * `using` returns a function: `projects(tx)` is the repository within a transaction, `projects()` is for reads outside
 * one.
 */
export interface Store {
  using<R extends object>(repository: RepositoryOf<R>): (tx?: Tx) => R;
  /** A repository on a connection without transactions, such as that for counters. */
  on<R extends object>(connection: Connection, repository: RepositoryOf<R>): R;
  /**
   * Runs `work` as one atomic change, durable when the promise resolves. Many requests share one commit. `work` may
   * await only the store. `scope` decides what the transaction locks; `prefetch` starts reads of `work` (`Prefetch`).
   */
  transaction<T>(scope: TransactionScope, work: (tx: Tx) => Promise<T>, prefetch?: Prefetch): Promise<T>;
  /** Refuses all further reads and writes, because another store has replaced this one. */
  retire(): void;
  readonly retired: boolean;
  /** Whether the store is retired or closed. */
  readonly ended: boolean;
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
  lockLimit(limit: Parameters<Tx["lockLimit"]>[0]) {
    return this.connection.lockLimit?.(limit);
  }
  tell(message: string): void {
    this.connection.tell?.(message);
  }
  get shared() {
    return this.connection.shared;
  }
  get newest(): string | undefined {
    return this.connection.newest;
  }
}

/** 503: a restore or a reset replaced the state during the request. */
export const stateReplaced = () =>
  new Problem("unavailable", "the state of the service was replaced; connect or send the request again", {
    headers: { "retry-after": "1" },
  });

const closed = () => new Error("the service is closed; make a new one");

/** Shared by all stores of a process: compiling takes half of the time to create a service. */
const compiled = new WeakMap<RepositoryOf<object>, Record<Engine["name"], CompiledQueries>>();
function compiledFor({ name }: Engine, repository: RepositoryOf<object>): CompiledQueries {
  const queries = compiled.get(repository) ?? { sqlite: [], postgres: [] };
  compiled.set(repository, queries);
  return queries[name];
}

export function createStore(engine: Engine): Store {
  /** Creates the error that every call throws once the store is retired or closed. */
  let refusal: (() => Error) | undefined;
  const repositories = new WeakMap<Connection, Map<unknown, object>>();
  const repositoryOn = <R extends object>(connection: Connection, repository: RepositoryOf<R>): R => {
    const bound = repositories.get(connection) ?? new Map<unknown, object>();
    repositories.set(connection, bound);
    let its = bound.get(repository);
    if (!its) {
      // Check at each statement too: the store may be retired between the ticks of a long list.
      const statement: Connection["statement"] = (text, use) => {
        if (refusal) throw refusal();
        return connection.statement(text, use);
      };
      its = repository(createQueries(engine, { statement }, compiledFor(engine, repository)));
      bound.set(repository, its);
    }
    return its as R;
  };
  /** Starts all reads on a connection. Errors are left to the engine: the transaction fails with the first. */
  const readsOf =
    (...prefetches: readonly (Prefetch | undefined)[]) =>
    async (connection: Connection): Promise<unknown> => {
      // A prefetch would throw, and nobody would handle the promises of its earlier reads.
      if (refusal) return undefined;
      const tx = new Transaction(connection);
      const reads = Promise.allSettled(prefetches.flatMap((prefetch) => prefetch?.(tx) ?? []));
      return reads.finally(() => {
        tx.open = false;
      });
    };
  return {
    engine,
    using: (repository) => (tx) => {
      if (refusal) throw refusal();
      if (!tx) return repositoryOn(engine.connection, repository);
      if (!(tx instanceof Transaction) || !tx.open) throw new Error("this transaction has ended");
      return repositoryOn(tx.connection, repository);
    },
    on: repositoryOn,
    async transaction(scope, work, prefetch) {
      if (refusal) throw refusal();
      const organization = typeof scope === "object" ? scope : undefined;
      let tx: Transaction | undefined;
      const inTransaction = async (connection: Connection) => {
        if (refusal) throw refusal();
        tx = new Transaction(connection);
        try {
          if (organization?.hooks?.before) await organization.hooks.before(tx);
          const value = await work(tx);
          if (organization?.hooks?.after) await organization.hooks.after(tx, organization.organization_id, value);
          return value;
        } finally {
          tx.open = false;
        }
      };
      const result = await engine.transaction(scope, inTransaction, readsOf(prefetch, organization?.hooks?.prefetch));
      for (const run of tx?.after ?? []) run();
      return result;
    },
    retire() {
      refusal = stateReplaced;
    },
    get retired() {
      return refusal === stateReplaced;
    },
    get ended() {
      return refusal !== undefined;
    },
    async close() {
      await engine.close();
      refusal ??= closed;
    },
  };
}
