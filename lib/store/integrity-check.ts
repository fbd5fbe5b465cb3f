import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { etagOf } from "./asset-files.ts";
import { DatabaseError, describeError } from "./database-error.ts";
import { checkHeader } from "./database-files.ts";
import { fingerprintOf, readKey, wrongKey } from "./encryption.ts";
import { checkCompatible, isNew } from "./migrate.ts";
import { openRaw } from "./sqlite.ts";

/** The key file beside a database, which decrypts its secrets. */
export const keyFileOf = (path: string) => `${path}.key`;
/** The folder beside a database, which holds the files of its generations. */
export const assetFolderOf = (path: string) => `${path}-files`;

/** Throws a DatabaseError for a database that is damaged or empty, or that this version would refuse to start on. */
export function checkDatabase(path: string): void {
  withDatabase(path, (database) => {
    const result = database.pragma("integrity_check", { simple: true });
    if (result !== "ok") throw new Error(`it is damaged: ${result}`);
    if (isNew(database)) throw new Error("it holds nothing yet");
    checkCompatible(database);
  });
}

/** Throws a DatabaseError unless the key file decrypts the secrets of the database. */
export function checkKey(path: string, key = keyFileOf(path)): void {
  const expected = withDatabase(path, (database) =>
    database.prepare("select value from settings where name = 'vault'").pluck().get(),
  );
  let fingerprint: string;
  try {
    fingerprint = fingerprintOf(readKey(key));
  } catch (error) {
    throw new DatabaseError(path, `its key file ${key}: ${describeError(error)}`, error);
  }
  if (expected !== undefined && expected !== fingerprint) throw wrongKey(path, key);
}

/** The generations whose file is missing or differs from what was stored. Reads every byte. */
export function damagedAssets(path: string, folder = assetFolderOf(path)): string[] {
  const stored = withDatabase(path, (database) => {
    const hasGenerations =
      database.prepare("select 1 from sqlite_schema where name = 'generations'").get() !== undefined;
    return hasGenerations
      ? database.prepare("select id, etag from generations where content_type is not null order by id").all()
      : [];
  }) as { id: string; etag: string }[];
  return stored.flatMap(({ id, etag }) => {
    const file = join(folder, id);
    return existsSync(file) && etagOf(readFileSync(file)) === etag ? [] : [id];
  });
}

function withDatabase<T>(path: string, work: (database: Database) => T): T {
  let database: Database | undefined;
  try {
    checkHeader(path);
    database = openRaw(path);
    return work(database);
  } catch (error) {
    throw new DatabaseError(path, describeError(error), error);
  } finally {
    database?.close();
  }
}
