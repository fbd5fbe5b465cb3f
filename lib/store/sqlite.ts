import type { Database, Statement as Prepared } from "better-sqlite3";
import { DefaultQueryExecutor, QueryCreator, SqliteAdapter, SqliteQueryCompiler } from "kysely";
import { compileRecord } from "../kernel/compiled-records.ts";
import { Problem } from "../kernel/errors.ts";
import type { Engine, QueryBuilder, Statement } from "./engine.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";
import { loadNative } from "./native-module.ts";
import type { Tables } from "./tables.ts";

/** Kysely as a writer of SQL: it compiles, and has no connection to run anything on. */
const executor = new DefaultQueryExecutor(new SqliteQueryCompiler(), new SqliteAdapter(), {
  provideConnection: () => Promise.reject(new Error("queries are run as prepared statements")),
});

/** Half of Kysely: the whole one would bring along its builder of schemas, its migrator, and its transactions. */
export const queryBuilder: QueryBuilder = Object.assign(new QueryCreator<Tables>({ executor }), {
  getExecutor: () => executor,
});

let native: ReturnType<typeof loadNative> | undefined;

/** Opens a file as it is; the native module is loaded, and judged, at the first one. */
export function openRaw(source: string | Buffer): Database {
  native ??= loadNative();
  // Waiting for a lock holds up the whole event loop, so it waits a quarter of a second and not five.
  return new native(source, { timeout: 250 });
}

/** Opens a database with the settings that every connection of ours has. `source` is a path, or a whole image. */
export function openDatabase(source: string | Buffer): Database {
  const database = openRaw(source);
  try {
    database.pragma("foreign_keys = ON");
    database.pragma("trusted_schema = OFF");
    // What savepoints may have to take back would be written to temporary files: thousands of writes a group.
    database.pragma("temp_store = MEMORY");
    if (typeof source === "string" && source !== ":memory:") {
      database.pragma("journal_mode = WAL");
      // better-sqlite3 is built so that a WAL file opens with NORMAL, which loses acknowledged writes at a power cut.
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

/** A write outside of a transaction would be a commit of its own, and could be left half done. */
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
  // Compiled at the first row: most statements of most worlds never run.
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

/** A store that cannot write is a 503, not a fault: CONTRACT section 1, "the store cannot be reached". */
function unavailable(error: unknown): unknown {
  if (!/^SQLITE_(FULL|IOERR|READONLY|BUSY|CORRUPT|NOTADB|CANTOPEN)/.test(codeOf(error))) return error;
  return new Problem("unavailable", "the store cannot be used at the moment; try again in a few seconds", {
    headers: { "retry-after": "5" },
    cause: error,
  });
}
