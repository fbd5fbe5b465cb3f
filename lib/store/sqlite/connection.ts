import type { Database } from "better-sqlite3";
import { DefaultQueryExecutor, QueryCreator, SqliteAdapter, SqliteQueryCompiler } from "kysely";
import type { QueryBuilder } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { loadNative } from "./native-module.ts";

/** Kysely only compiles SQL here. It has no connection. */
const executor = new DefaultQueryExecutor(new SqliteQueryCompiler(), new SqliteAdapter(), {
  provideConnection: () => Promise.reject(new Error("Kysely has no connection here; run prepared statements")),
});

/** Kysely without its schema builder, migrator and transactions, which saves parsing 130 kB at each start. */
export const queryBuilder: QueryBuilder = Object.assign(new QueryCreator<Tables>({ executor }), {
  getExecutor: () => executor,
});

let native: ReturnType<typeof loadNative> | undefined;

/** Opens a database without changing any setting. The first call checks and loads the native module. */
export function openRaw(source: string | Buffer): Database {
  native ??= loadNative();
  // Waiting for a lock blocks the event loop, so the timeout is 250 ms instead of the default of 5 s.
  return new native(source, { timeout: 250 });
}

/** Opens a database with our settings. `source` is a path, or an image. */
export function openDatabase(source: string | Buffer): Database {
  const database = openRaw(source);
  try {
    database.pragma("foreign_keys = ON");
    database.pragma("trusted_schema = OFF");
    // Otherwise savepoints write their rollback journal to temporary files, and a POST takes half as much again.
    database.pragma("temp_store = MEMORY");
    // In KiB. better-sqlite3's default of 16,000 takes 12 MB more, and is not faster: the system caches the file, too.
    database.pragma("cache_size = -4000");
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
