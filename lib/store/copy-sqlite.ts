import { closeSync, existsSync, openSync, readdirSync, renameSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { settleSwitch } from "./atomic-switch.ts";
import { filesInFolder } from "./copy-files.ts";
import type { Source, Target } from "./copy-sides.ts";
import { type Ask, keyOf, type Row, rowsOf, type Table } from "./copy-tables.ts";
import { DatabaseError } from "./database-error.ts";
import { refuseFolder } from "./database-files.ts";
import { lockDatabase } from "./database-lock.ts";
import { fingerprintOf, readKey, writeKey, wrongKey } from "./encryption.ts";
import { assetFolderOf, checkDatabase, checkKey, keyFileOf } from "./integrity-check.ts";
import { isCurrent, migrate, olderSchema } from "./migrate.ts";
import { openDatabase, openRaw } from "./sqlite.ts";
import { makeFolder, sync, syncFolder } from "./sync-folder.ts";

const askOf =
  (database: Database): Ask =>
  async (text, values = []) => {
    const statement = database.prepare(text.replaceAll(/\$\d+/g, "?"));
    if (statement.reader) return statement.all(...values) as Row[];
    statement.run(...values);
    return [];
  };

/** The names are those of our schema. */
function statementsOf({ name, columns, key }: Table) {
  const quoted = (names: readonly string[]) => names.map((one) => `"${one}"`);
  const same = quoted(key).map((column) => `${column} = ?`);
  return {
    remove: `delete from "${name}" where ${same.join(" and ")}`,
    insert: `insert into "${name}" (${quoted(columns).join(", ")}) values (${columns.map(() => "?").join(", ")})`,
  };
}

/** Removes and inserts rows of one table, in one transaction. */
export function changeRows(database: Database, table: Table, surplus: readonly Row[], missing: readonly Row[]): void {
  const texts = statementsOf(table);
  const [remove, insert] = [database.prepare(texts.remove), database.prepare(texts.insert)];
  database
    .transaction(() => {
      for (const row of surplus) remove.run(...keyOf(table, row));
      for (const row of missing) insert.run(...table.columns.map((column) => row[column]));
    })
    .immediate();
}

/** An empty database for rows that are checked: nothing in it is durable, and its references may lead nowhere. */
export function openScratch(path: string): Database {
  const database = openDatabase(path);
  database.pragma("synchronous = OFF");
  database.pragma("foreign_keys = OFF");
  migrate(database);
  return database;
}

/** A database file that no server uses, as it is now. It stays locked until `close`. */
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
    // Commands beside a server write without its lock: all reads are of one snapshot.
    database.exec("pragma query_only = on; begin");
    const ask = askOf(database);
    return {
      shown: path,
      ask,
      rows: rowsOf(ask),
      files: filesInFolder(assetFolderOf(path)),
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

/** A copy under this name is not finished. */
const unfinishedOf = (path: string) => `${path}.copying`;

/**
 * A database file that is made: it has its own name once it is whole. Its key and its files are in place before that. A file
 * that exists already is compared, and never changed.
 */
export async function openSqliteTarget(file: string, key: Buffer): Promise<Target> {
  const path = resolve(file);
  settleSwitch(path);
  refuseFolder(path);
  makeFolder(dirname(path));
  const unlock = lockDatabase(path);
  let database: Database | undefined;
  try {
    const exists = existsSync(path) && statSync(path).size > 0;
    database = exists ? openExisting(path) : openUnfinished(path, key);
    return targetOf(path, database, { key, unlock, exists });
  } catch (error) {
    database?.close();
    unlock();
    throw DatabaseError.from(path, error);
  }
}

function openExisting(path: string): Database {
  checkDatabase(path);
  checkKey(path);
  const database = openRaw(path);
  database.pragma("query_only = on");
  if (isCurrent(database)) return database;
  database.close();
  throw new Error("it holds a service already, of an older version; name a file that does not exist");
}

function openUnfinished(path: string, key: Buffer): Database {
  const [unfinished, folder, keyFile] = [unfinishedOf(path), assetFolderOf(path), keyFileOf(path)];
  if (existsSync(keyFile) && fingerprintOf(readKey(keyFile)) !== fingerprintOf(key))
    throw wrongKey(path, `the key file ${keyFile}`);
  if (!existsSync(unfinished)) {
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new Error(`files of another database are in ${folder}; move them away, or name another file`);
    closeSync(openSync(unfinished, "a", 0o600));
  }
  const database = openDatabase(unfinished);
  migrate(database);
  return database;
}

function targetOf(
  path: string,
  database: Database,
  { key, unlock, exists }: { readonly key: Buffer; readonly unlock: () => void; readonly exists: boolean },
): Target {
  const ask = askOf(database);
  return {
    shown: path,
    rows: rowsOf(ask),
    files: filesInFolder(assetFolderOf(path)),
    ask,
    isUsed: async () => exists,
    change: async (...change) => changeRows(database, ...change),
    async finish() {
      if (!existsSync(keyFileOf(path))) writeKey(keyFileOf(path), key);
      database.pragma("wal_checkpoint(TRUNCATE)");
      database.close();
      sync(unfinishedOf(path), "r+");
      renameSync(unfinishedOf(path), path);
      syncFolder(dirname(path));
    },
    async close() {
      database.close();
      unlock();
    },
  };
}
