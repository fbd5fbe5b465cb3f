import type { Database, Statement as Prepared } from "better-sqlite3";
import { DefaultQueryExecutor, QueryCreator, SqliteAdapter, SqliteQueryCompiler } from "kysely";
import { compileRecord } from "../kernel/compiled-records.ts";
import { Problem } from "../kernel/errors.ts";
import { isDamage } from "./database-error.ts";
import type { Engine, QueryBuilder, Statement } from "./engine.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";
import { loadNative } from "./native-module.ts";
import type { Tables } from "./tables.ts";

/** Kysely compiles SQL here. It has no connection to run it on. */
const executor = new DefaultQueryExecutor(new SqliteQueryCompiler(), new SqliteAdapter(), {
  provideConnection: () => Promise.reject(new Error("Kysely has no connection here; run prepared statements")),
});

/** Kysely without its schema builder, migrator and transactions: 130 kB less to parse at each start. */
export const queryBuilder: QueryBuilder = Object.assign(new QueryCreator<Tables>({ executor }), {
  getExecutor: () => executor,
});

let native: ReturnType<typeof loadNative> | undefined;

/** Opens a database without changing any setting. The first call loads and checks the native module. */
export function openRaw(source: string | Buffer): Database {
  native ??= loadNative();
  // Waiting for a lock blocks the event loop, so the timeout is 250 ms and not the default of 5 s.
  return new native(source, { timeout: 250 });
}

/** Opens a database with our settings. `source` is a path, or an image. */
export function openDatabase(source: string | Buffer): Database {
  const database = openRaw(source);
  try {
    database.pragma("foreign_keys = ON");
    database.pragma("trusted_schema = OFF");
    // Savepoints would write their rollback journal to temporary files: a POST took 247 µs, and takes 172 (bench
    // `http`).
    database.pragma("temp_store = MEMORY");
    if (typeof source === "string" && source !== ":memory:") {
      database.pragma("journal_mode = WAL");
      // better-sqlite3 opens WAL files with synchronous=NORMAL, which loses acknowledged writes in a power failure.
      database.pragma("synchronous = FULL");
      database.pragma("journal_size_limit = 67108864");
      if (database.pragma("synchronous", { simple: true }) !== 2)
        throw new Error("the database refuses synchronous = FULL");
    }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export function createSqliteEngine(database: Database): Engine {
  const statements = new Map<string, Statement>();
  const group = createGroupCommit(database, unavailable);
  const connection = {
    statement(text: string): Statement {
      let statement = statements.get(text);
      if (!statement) {
        statement = statementOf(group, database.prepare(text));
        statements.set(text, statement);
        if (statements.size > 512) statements.delete(statements.keys().next().value as string);
      }
      return statement;
    },
  };
  return {
    name: "sqlite",
    db: queryBuilder,
    connection,
    transaction: (work) => group.add(() => work(connection)),
    betweenTransactions: group.betweenTransactions,
    dataVersion: group.dataVersion,
    size: () =>
      ["page_count", "page_size"].reduce((size, name) => size * Number(database.pragma(name, { simple: true })), 1),
    isDuplicate: (error) => ["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"].includes(codeOf(error)),
    preparedSql: () => [...statements.keys()],
    async close() {
      await group.drain();
      statements.clear();
      if (database.open) database.close();
    },
  };
}

/** Refuses writes outside of a transaction: each would be a commit of its own, and a change could stay half done. */
function statementOf(group: GroupCommit, prepared: Prepared): Statement {
  const read = <T>(run: () => T): T => {
    if (prepared.readonly) group.beforeRead();
    else requireTransaction(group);
    try {
      return run();
    } catch (error) {
      throw unavailable(error);
    }
  };
  let record: ReturnType<typeof compileRecord> | undefined;
  if (prepared.reader) prepared.raw();
  // Compiled at the first row: most statements of a service never run.
  const recorder = () => (record ??= compileRecord(prepared.columns().map(({ name }) => name)));
  return {
    all: async (parameters) => read(() => (prepared.all(parameters) as unknown[][]).map(recorder())),
    async first(parameters) {
      const values = read(() => prepared.get(parameters)) as unknown[] | undefined;
      return values && recorder()(values);
    },
    async run(parameters) {
      requireTransaction(group);
      return prepared.run(parameters).changes;
    },
  };
}

function requireTransaction(group: GroupCommit): void {
  if (!group.beforeWrite()) throw new Error("a write outside of a transaction");
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? "");

/** A store that cannot write is a 503 and not a 500: CONTRACT section 1, "the store cannot be reached". */
function unavailable(error: unknown): unknown {
  if (!/^SQLITE_(FULL|IOERR|READONLY|BUSY|CORRUPT|NOTADB|CANTOPEN)/.test(codeOf(error))) return error;
  const reason = isDamage(error)
    ? "the database is damaged; its operator has to restore it from a backup"
    : "the store cannot be used at the moment; try again in a few seconds";
  return new Problem("unavailable", reason, {
    headers: { "retry-after": "5" },
    cause: error,
  });
}
