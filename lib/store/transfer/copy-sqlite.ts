import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { assetsInFolder } from "../asset-files.ts";
import { DatabaseError } from "../database-error.ts";
import { fingerprintOf, keyFileOf, readKey, writeKey, wrongKey } from "../encryption.ts";
import { isCurrent, migrate, olderSchema } from "../migrate.ts";
import { settleSwitch, stagingOf, switchFiles } from "../sqlite/atomic-switch.ts";
import { openDatabase, openRaw } from "../sqlite/connection.ts";
import { refuseFolder } from "../sqlite/database-files.ts";
import { lockDatabase } from "../sqlite/database-lock.ts";
import { makeFolder } from "../sync-folder.ts";
import type { Filled, Source, Target } from "./copy-sides.ts";
import type { Ask, Row, Table } from "./copy-tables.ts";
import { assetFolderOf, checkDatabase, checkKey } from "./integrity-check.ts";

/** Runs SQL that is written for both engines on a database file. */
export const askOf =
  (database: Database): Ask =>
  async (text, values = []) => {
    const statement = database.prepare(text.replaceAll(/\$\d+/g, "?"));
    if (statement.reader) return statement.all(...values) as Row[];
    statement.run(...values);
    return [];
  };

/** The names come from our schema, so they are safe in SQL. */
function insertionOf({ name, columns }: Table): string {
  const named = columns.map((column) => `"${column}"`).join(", ");
  return `insert into "${name}" (${named}) values (${columns.map(() => "?").join(", ")})`;
}

export function insertRows(database: Database, table: Table, rows: readonly Row[]): void {
  const insert = database.prepare(insertionOf(table));
  database.transaction(() => {
    for (const row of rows) insert.run(...table.columns.map((column) => row[column]));
  })();
}

/** An empty database to copy rows into. Writes are not synced, and foreign keys are not checked. */
export function openScratch(path: string): Database {
  const database = openDatabase(path);
  database.pragma("synchronous = OFF");
  database.pragma("foreign_keys = OFF");
  migrate(database);
  return database;
}

/** A database file that no server uses. It stays locked until `close`. */
export async function openSqliteSource(file: string): Promise<Source> {
  const path = resolve(file);
  settleSwitch(path);
  if (!existsSync(path)) throw new DatabaseError(path, "it does not exist; name another file");
  refuseFolder(path);
  const unlock = lockDatabase(path);
  let database: Database | undefined;
  try {
    checkDatabase(path);
    if (!existsSync(keyFileOf(path)))
      throw new Error(`its key file ${keyFileOf(path)} is missing, and a copy without it is useless`);
    checkKey(path);
    database = openRaw(path);
    if (!isCurrent(database)) throw new Error(olderSchema);
    // Commands may write without the lock, so all reads come from one snapshot.
    database.exec("pragma query_only = on; begin");
    return {
      shown: path,
      ask: askOf(database),
      files: assetsInFolder(assetFolderOf(path)),
      async close() {
        database?.close();
        unlock();
      },
    };
  } catch (error) {
    database?.close();
    unlock();
    throw DatabaseError.from(path, error);
  }
}

/** A new file with its key and files, staged until the copy is finished. An existing one is only compared. */
export async function openSqliteTarget(file: string, key: Buffer): Promise<Target> {
  const path = resolve(file);
  const isUnfinished = existsSync(stagingOf(path)) && !existsSync(path);
  if (!isUnfinished) settleSwitch(path);
  refuseFolder(path);
  makeFolder(dirname(path));
  const unlock = lockDatabase(path);
  try {
    const used = existsSync(path) && statSync(path).size > 0 ? openUsed(path) : undefined;
    if (!used) refuseLeft(path, key);
    return {
      shown: path,
      used: used && { ask: askOf(used), files: assetsInFolder(assetFolderOf(path)) },
      isUnfinished,
      fill: (work) => switchFiles(path, (staged) => fill(staged, key, work)),
      async close() {
        used?.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw DatabaseError.from(path, error);
  }
}

function openUsed(path: string): Database {
  checkDatabase(path);
  checkKey(path);
  const database = openRaw(path);
  database.pragma("query_only = on");
  if (isCurrent(database)) return database;
  database.close();
  throw new Error("it holds a service already, of an older version; name a file that does not exist");
}

/** Throws if files of another database lie beside this path. */
function refuseLeft(path: string, key: Buffer): void {
  const [folder, keyFile] = [assetFolderOf(path), keyFileOf(path)];
  if (existsSync(keyFile) && fingerprintOf(readKey(keyFile)) !== fingerprintOf(key))
    throw wrongKey(path, `the key file ${keyFile}`);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new Error(`files of another database are in ${folder}; move them away, or name another file`);
}

async function fill<T>(path: string, key: Buffer, work: (into: Filled) => Promise<T>): Promise<T> {
  writeFileSync(path, "", { mode: 0o600 });
  writeKey(keyFileOf(path), key);
  const database = openScratch(path);
  try {
    return await work({
      ask: askOf(database),
      files: assetsInFolder(assetFolderOf(path)),
      insert: async (table, rows) => insertRows(database, table, rows),
    });
  } finally {
    database.close();
  }
}
