import { closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { DatabaseError, describeError } from "./database-error.ts";
import { imageOf, imagesOf, replaceRows } from "./database-image.ts";
import type { Engine } from "./engine.ts";
import { applicationId, checkCompatible, foreignDatabase, isCurrent, isNew, migrate } from "./migrate.ts";
import { createSqliteEngine, openDatabase, openRaw } from "./sqlite.ts";

/** An opened database, before it is a store: what else lives in the file, and how to let it go. */
export interface OpenDatabase {
  readonly engine: Engine;
  readonly database: Database;
  /** Whether this very opening made it. */
  readonly created: boolean;
  /** The rows as they are, as the image of a database in memory. */
  image(): Buffer;
  /** The rows of an image: in a file they replace those that are there, in memory they are a database of their own. */
  withImage(image: Buffer): OpenDatabase;
  release(): void;
}

let empty: Buffer | undefined;

/** A database in memory. The migrated image is kept, so that the next one opens in a fraction of a millisecond. */
export function openMemory(): OpenDatabase {
  if (!empty) {
    const first = openDatabase(":memory:");
    migrate(first);
    empty = imageOf(first);
    first.close();
  }
  return openImage(empty);
}

/** A database in memory with the rows of an image, which it does not change. */
export function openImage(image: Buffer): OpenDatabase {
  const database = openDatabase(image);
  return {
    engine: createSqliteEngine(database),
    database,
    created: true,
    image: imagesOf(database),
    withImage: openImage,
    release: () => {},
  };
}

/**
 * A database in a file, held by this process alone until `release`. Refuses with one sentence, and never repairs or
 * makes anew, what is truncated, foreign, newer, read-only or held by another server.
 */
export function openFile(file: string, options: { mayCreate: () => void; exclusive: boolean }): OpenDatabase {
  const path = resolve(file);
  let release = () => {};
  let database: Database | undefined;
  try {
    if (existsSync(path) && statSync(path).isDirectory())
      throw new Error(`it is a folder; name a file in it, such as ${path}/svc.db`);
    const fresh = !existsSync(path) || statSync(path).size === 0;
    if (fresh) {
      options.mayCreate();
      mkdirSync(dirname(path), { recursive: true });
    }
    // Held before it is looked into: closing a file drops the locks that this process has on it.
    if (options.exclusive) release = lockDatabase(path);
    if (fresh) closeSync(openSync(path, "a", 0o600));
    else checkHeader(path);
    database = openDatabase(path);
    const created = isNew(database);
    checkCompatible(database);
    if (!options.exclusive && !isCurrent(database)) {
      throw new Error("its schema is older than this svc-server; start the server on it once");
    }
    migrate(database);
    if (options.exclusive) {
      database
        .prepare("insert into settings values ('server_pid', ?) on conflict do update set value = excluded.value")
        .run(String(process.pid));
    }
    return inFile(database, created, release);
  } catch (error) {
    if (database?.open) database.close();
    release();
    throw error instanceof DatabaseError ? error : new DatabaseError(path, describeError(error), error);
  }
}

function inFile(database: Database, created: boolean, release: () => void): OpenDatabase {
  const opened: OpenDatabase = {
    engine: createSqliteEngine(database),
    database,
    created,
    image: imagesOf(database),
    withImage(image) {
      replaceRows(database, image);
      return opened;
    },
    release,
  };
  return opened;
}

/** What SQLite would answer with puzzling words, repair in silence, or change before it refuses. */
export function checkHeader(path: string): void {
  const header = Buffer.alloc(100);
  const fd = openSync(path, "r");
  const read = readSync(fd, header, 0, 100, 0);
  closeSync(fd);
  if (read < 16 || header.toString("latin1", 0, 16) !== "SQLite format 3\0") {
    throw new Error("it is not an SQLite database; name another file, or restore it from a backup");
  }
  const size = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const logged = pagesInWal(`${path}-wal`, size);
  // A page alone holds no table: the file of a process that was killed before its first commit.
  const isEmpty = header.readUInt32BE(28) <= 1;
  // Before the first checkpoint the log alone knows whose the file is.
  if (read === 100 && !isEmpty && logged.pages.size === 0 && header.readUInt32BE(68) !== applicationId)
    throw new Error(foreignDatabase);
  const pages = logged.count || header.readUInt32BE(28);
  for (let page = Math.floor(statSync(path).size / size) + 1; page <= pages; page++) {
    if (!logged.pages.has(page))
      throw new Error("it is truncated: a part of its end is missing; restore it from a backup");
  }
}

/** Which pages the write-ahead log holds, and how many the database has after its last commit. */
function pagesInWal(path: string, size: number): { pages: Set<number>; count: number } {
  const pages = new Set<number>();
  let count = 0;
  if (!existsSync(path)) return { pages, count };
  const fd = openSync(path, "r");
  try {
    const salts = Buffer.alloc(8);
    readSync(fd, salts, 0, 8, 16);
    const frame = Buffer.alloc(24);
    for (let at = 32; readSync(fd, frame, 0, 24, at) === 24 && frame.subarray(8, 16).equals(salts); at += 24 + size) {
      pages.add(frame.readUInt32BE(0));
      count = frame.readUInt32BE(4) || count;
    }
  } finally {
    closeSync(fd);
  }
  return { pages, count };
}

/**
 * Holds the file for this process, as a lock of the operating system on a small database beside it: it ends with the
 * process, so none is ever left behind by a crash. The holder's pid is a row of the database itself.
 */
export function lockDatabase(path: string): () => void {
  let lock: Database | undefined;
  try {
    lock = openRaw(`${path}.lock`);
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    if (String((error as { code?: string }).code).startsWith("SQLITE_BUSY")) {
      throw new DatabaseError(
        path,
        `another svc-server${lockHolder(path)} is running on it; stop that one, or name another file`,
      );
    }
    throw new DatabaseError(path, describeError(error), error);
  }
  return () => lock.close();
}

function lockHolder(path: string): string {
  try {
    const database = openRaw(path);
    const row = database.prepare("select value from settings where name = 'server_pid'").get() as
      | { value: string }
      | undefined;
    database.close();
    return row ? ` (pid ${row.value})` : "";
  } catch {
    return "";
  }
}
