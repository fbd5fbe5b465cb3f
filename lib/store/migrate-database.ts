import { closeSync, existsSync, openSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { DatabaseError } from "./database-error.ts";
import { isPostgres } from "./database-url.ts";
import { keyFileOf } from "./encryption.ts";
import { type Migrated, migrate, migrations } from "./migrate.ts";
import { migrateUrl } from "./postgres/command-connection.ts";
import { settleSwitch } from "./sqlite/atomic-switch.ts";
import { openDatabase } from "./sqlite/connection.ts";
import { checkHeader, refuseFolder } from "./sqlite/database-files.ts";
import { lockDatabase } from "./sqlite/database-lock.ts";
import { makeFolder } from "./sync-folder.ts";

/** Creates the tables of a new database, or migrates those of an older version. Nothing else changes. */
export async function migrateDatabase(database: string): Promise<Migrated> {
  if (!isPostgres(database)) return migrateFile(resolve(database));
  return migrateUrl(database);
}

/** No server may be running on the file. */
function migrateFile(path: string): Migrated {
  settleSwitch(path);
  refuseFolder(path);
  const isNew = !existsSync(path) || statSync(path).size === 0;
  if (isNew && existsSync(keyFileOf(path)))
    throw new DatabaseError(
      path,
      `its key file ${keyFileOf(path)} exists, but the database does not; is a volume not mounted?`,
    );
  makeFolder(dirname(path));
  const unlock = lockDatabase(path);
  let database: Database | undefined;
  try {
    if (isNew) closeSync(openSync(path, "a", 0o600));
    else checkHeader(path);
    database = openDatabase(path);
    const from = database.pragma("user_version", { simple: true }) as number;
    migrate(database);
    return { from, to: migrations().length };
  } catch (error) {
    throw DatabaseError.from(path, error);
  } finally {
    database?.close();
    unlock();
  }
}
