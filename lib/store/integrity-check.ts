import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { etagOf } from "./asset-files.ts";
import { DatabaseError, describeError } from "./database-error.ts";
import { checkHeader } from "./database-files.ts";
import { fingerprintOf, readKey, wrongKey } from "./encryption.ts";
import { checkCompatible, isNew } from "./migrate.ts";
import { openRaw } from "./sqlite.ts";

/** What lies beside a database: the key of its secrets, and the files of its generations. */
export const keyFileOf = (path: string) => `${path}.key`;
export const assetFolderOf = (path: string) => `${path}-files`;

/** Throws a sentence where a database is not whole, not ours, or of a newer version: what a start would refuse. */
export function checkDatabase(path: string): void {
  withDatabase(path, (database) => {
    const found = database.pragma("integrity_check", { simple: true });
    if (found !== "ok") throw new Error(`it is damaged: ${found}`);
    if (isNew(database)) throw new Error("it holds nothing yet");
    checkCompatible(database);
  });
}

/** Throws a sentence where the key is not that of the secrets in a database. */
export function checkKey(path: string, key = keyFileOf(path)): void {
  const fingerprint = withDatabase(path, (database) =>
    database.prepare("select value from settings where name = 'vault'").pluck().get(),
  );
  let found: string;
  try {
    found = fingerprintOf(readKey(key));
  } catch (error) {
    throw new DatabaseError(path, `its key file ${key}: ${describeError(error)}`, error);
  }
  if (fingerprint !== undefined && fingerprint !== found) throw wrongKey(path, key);
}

/** The generations whose file is missing, or is not what was stored. Every byte is read. */
export function damagedAssets(path: string, folder = assetFolderOf(path)): string[] {
  const kept = withDatabase(path, (database) => {
    const hasAny = database.prepare("select 1 from sqlite_schema where name = 'generations'").get() !== undefined;
    return hasAny
      ? database.prepare("select id, etag from generations where content_type is not null order by id").all()
      : [];
  }) as { id: string; etag: string }[];
  return kept.flatMap(({ id, etag }) => {
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
