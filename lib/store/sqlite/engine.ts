import type { Database } from "better-sqlite3";
import { sql } from "kysely";
import { Problem } from "../../kernel/errors.ts";
import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import { codeOf, Damage, isDamage } from "../database-error.ts";
import type { Engine, Statement } from "../engine.ts";
import { refuseMoved, stopped } from "../write-failure.ts";
import { queryBuilder } from "./connection.ts";
import type { Reserve } from "./disk-reserve.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";
import { createRecovery, type Recovery } from "./recovery.ts";
import { jsonOf } from "./row-json.ts";
import { createLogKeeper, type LogKeeper, logSize } from "./write-ahead-log.ts";

/** The open database. It is replaced after an I/O error. */
interface Link {
  database: Database;
  group: GroupCommit;
  /** How often the database was reopened. */
  reopened: number;
}

/** The file behind an engine. */
export interface DatabaseFile {
  readonly path: string;
  readonly reserve: Reserve;
  /** Whether opening the file needed the reserve. */
  readonly usedReserve: boolean;
  /** Reopens the file. Throws if it cannot be used. */
  readonly open: () => Database;
  /** Called when the file is closed and will not be reopened. */
  readonly closed: () => Promise<unknown>;
}

export interface SqliteEngine extends Engine {
  /** Runs synchronous `work` between transactions, so that it sees only committed rows. */
  betweenTransactions<T>(work: () => T): Promise<T>;
}

/** Omit `file` for a database in memory, which has no disk errors. */
export function createSqliteEngine(database: Database, file?: DatabaseFile): SqliteEngine {
  const statements = new Map<string, Statement>();
  const fault = (error: unknown) => translate(error, recovery);
  const isTrusted = () => {
    const obstacle = recovery?.obstacle;
    if (obstacle && obstacle !== "disk_full") throw stopped(obstacle);
  };
  const link: Link = { database, group: createGroupCommit(database, fault, isTrusted), reopened: 0 };
  const keeper = file && createLogKeeper(file.path, () => link.database);
  const isInPlace = file ? refuseMoved(file.path) : () => {};
  const recovery =
    file && recoveryOf({ ...file, isInPlace }, link, keeper, () => createGroupCommit(link.database, fault, isTrusted));
  const connection = {
    statement(text: string): Statement {
      let statement = statements.get(text);
      if (!statement) {
        statement = statementOf(link, text, fault);
        statements.set(text, statement);
        if (statements.size > 512) statements.delete(statements.keys().next().value as string);
      }
      return statement;
    },
  };
  let isStarting = file !== undefined;
  return {
    name: "sqlite",
    db: queryBuilder,
    hasRowLocks: false,
    later: (instant, seconds) => sql`strftime('%Y-%m-%dT%H:%M:%fZ', ${instant}, ${seconds} || ' seconds')`,
    jsonOf,
    connection,
    transaction(scope, work) {
      const mayUseReserve = (typeof scope === "object" && scope.deletes) || isStarting;
      const obstacle = recovery?.obstacle;
      if (obstacle && !(obstacle === "disk_full" && mayUseReserve)) return Promise.reject(stopped(obstacle));
      try {
        keeper?.written(isInPlace);
      } catch (error) {
        return Promise.reject(fault(error));
      }
      const run = () => link.group.add(() => work(connection));
      if (obstacle || !mayUseReserve) return run();
      // If this transaction was the first to find the disk full, the reserve has just been released: run it again.
      return run().catch((error) => (recovery?.obstacle === "disk_full" ? run() : Promise.reject(error)));
    },
    betweenTransactions: (work) => link.group.betweenTransactions(work),
    // SQLite counts per connection. The numbers of two connections must never be equal.
    foreignCommitVersion: () => link.reopened * 2 ** 32 + link.group.foreignCommitVersion(),
    size: async () =>
      ["page_count", "page_size"].reduce(
        (size, name) => size * Number(link.database.pragma(name, { simple: true })),
        1,
      ),
    logSize: () => (file ? logSize(file.path) : 0),
    isBusy: () => false,
    isDuplicate: (error) => ["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"].includes(codeOf(error)),
    preparedSql: () => [...statements.keys()],
    get obstacle() {
      return recovery?.obstacle;
    },
    watch(watcher) {
      recovery?.watch(watcher);
      keeper?.watch(watcher);
    },
    started() {
      isStarting = false;
      return recovery?.started() ?? true;
    },
    async close() {
      await link.group.drain();
      await keeper?.pause();
      statements.clear();
      if (link.database.open) link.database.close();
      await file?.closed();
      recovery?.end();
    },
  };
}

function recoveryOf(
  { open, isInPlace, closed: _, ...file }: DatabaseFile & { readonly isInPlace: () => void },
  link: Link,
  keeper: LogKeeper | undefined,
  group: () => GroupCommit,
): Recovery {
  return createRecovery({
    ...file,
    async reopen() {
      await keeper?.pause();
      await link.group.betweenTransactions(() => {
        // If this throws, reads continue on the old connection.
        isInPlace();
        const next = open();
        link.database.close();
        link.database = next;
        link.group = group();
        link.reopened += 1;
      });
      await checkTables(link.database);
    },
    tryWriting: () =>
      link.group.betweenTransactions(() => {
        const { database } = link;
        database
          .transaction(() => {
            // An update to the same value would write nothing.
            database.exec("insert into settings values ('write_test', '')");
            database.exec("delete from settings where name = 'write_test'");
          })
          .immediate();
      }),
  });
}

/** Throws if a table has damaged pages. The event loop runs between tables. */
async function checkTables(database: Database): Promise<void> {
  const names = database.prepare("select name from sqlite_schema where type = 'table'").pluck().all();
  const check = database.prepare("select * from pragma_quick_check(?)").pluck();
  for (const name of names) {
    const result = String(check.get(name));
    if (result !== "ok") throw new Damage(result);
    await yieldToEventLoop();
  }
}

/** Refuses writes outside a transaction: each would commit by itself, and a change could stay half done. */
function statementOf(link: Link, text: string, translate: (error: unknown) => unknown): Statement {
  let prepared = link.database.prepare(text);
  let preparedBy = link.database;
  /** The statement, prepared again if the connection was replaced. */
  const current = () => {
    if (preparedBy !== link.database) {
      prepared = link.database.prepare(text);
      preparedBy = link.database;
    }
    if (prepared.readonly) link.group.beforeRead();
    else if (!link.group.beforeWrite()) throw new Error("a write outside of a transaction");
    return prepared;
  };
  const read = async (way: "all" | "get", parameters: readonly unknown[]): Promise<never> => {
    try {
      return current()[way](parameters) as never;
    } catch (error) {
      throw translate(error);
    }
  };
  const run = async (parameters: readonly unknown[]) => current().run(parameters).changes;
  return {
    all: (parameters) => read("all", parameters),
    first: (parameters) => read("get", parameters),
    run,
    send: run,
  };
}

/** An unusable store is a 503, not a 500 (schema/README.md#errors). */
function translate(error: unknown, recovery: Recovery | undefined): unknown {
  if (error instanceof Problem) return error;
  const headers = { "retry-after": "5" };
  if (isDamage(error)) {
    const message = "the database is damaged; its operator has to restore it from a backup";
    return new Problem("unavailable", message, { headers, cause: error });
  }
  if (codeOf(error).startsWith("SQLITE_BUSY")) {
    const message = "another program holds the database; try again in a few seconds";
    return new Problem("unavailable", message, { headers, cause: error });
  }
  // A database in memory is full at SQLite's page limit.
  const isFull = !recovery && codeOf(error) === "SQLITE_FULL";
  const obstacle = isFull ? "disk_full" : recovery?.note(error);
  return obstacle ? stopped(obstacle, error) : error;
}
