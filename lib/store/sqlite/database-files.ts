import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { Damage, DatabaseError } from "../database-error.ts";
import type { OpenDatabase } from "../engine.ts";
import { applicationId, checkCompatible, foreignDatabase, isCurrent, isNew, migrate, olderSchema } from "../migrate.ts";
import { makeFolder, withFile } from "../sync-folder.ts";
import { obstacleOf } from "../write-failure.ts";
import { settleSwitch } from "./atomic-switch.ts";
import { checkInMemory, createFileChecks } from "./check-invariants.ts";
import { openDatabase, openRaw } from "./connection.ts";
import { imageOf, imagesOf, replaceRows } from "./database-image.ts";
import { lockDatabase, lockFileOf } from "./database-lock.ts";
import { noReserve, reserveFile } from "./disk-reserve.ts";
import { createSqliteEngine, type DatabaseFile, type SqliteEngine } from "./engine.ts";

interface OpenSqlite extends OpenDatabase {
  readonly engine: SqliteEngine;
  readonly database: Database;
}

let emptyImage: Buffer | undefined;

/** An empty in-memory database. The migrated image is cached, so later ones open in a fraction of a millisecond. */
export function openMemory(): OpenSqlite {
  if (!emptyImage) {
    const first = openDatabase(":memory:");
    migrate(first);
    emptyImage = imageOf(first);
    first.close();
  }
  return openImage(emptyImage);
}

/** An in-memory database with a copy of the rows of an image. */
export function openImage(image: Buffer): OpenSqlite {
  const database = openDatabase(image);
  const engine = createSqliteEngine(database);
  return {
    engine,
    database,
    created: true,
    images: { between: engine.betweenTransactions, take: imagesOf(() => database), replace: openImage },
    violations: (signal) => checkInMemory(database, engine, signal),
    release: () => {},
  };
}

interface OpenOptions {
  readonly mayCreate: () => void;
  readonly exclusive: boolean;
  /** Whether to apply missing migrations. Default: only if exclusive. */
  readonly mayMigrate?: boolean;
  /** Whether to keep a reserve of disk space beside the file. */
  readonly keepReserve?: boolean;
}

/**
 * Opens a database file; `exclusive` locks it for this process until `release`. Throws a DatabaseError if the file is
 * truncated, read-only, locked by another server, or written by another program or a newer version. Never repairs or
 * replaces a file.
 */
export function openFile(file: string, options: OpenOptions): OpenSqlite {
  const path = resolve(file);
  const reserve = options.keepReserve ? reserveFile(path) : noReserve(path);
  try {
    const warning = settleSwitch(path);
    refuseFolder(path);
    try {
      return { ...openLocked(path, options, { reserve, usedReserve: false }), warning };
    } catch (error) {
      if (obstacleOf(error, path) !== "disk_full" || !(reserve.releaseForStart() || removeLog(path))) throw error;
      return { ...openLocked(path, options, { reserve, usedReserve: true }), warning };
    }
  } catch (error) {
    throw DatabaseError.from(path, error);
  }
}

/** Writes a killed process's log to its database, which frees its space on a full disk. Returns whether it did. */
function removeLog(path: string): boolean {
  if (!existsSync(path) || !existsSync(`${path}-wal`)) return false;
  const database = openRaw(path);
  try {
    database.pragma("wal_checkpoint(TRUNCATE)");
    return true;
  } catch {
    return false;
  } finally {
    database.close();
  }
}

type Space = Pick<DatabaseFile, "reserve" | "usedReserve">;

function openLocked(path: string, options: OpenOptions, space: Space): OpenSqlite {
  let release = () => {};
  let database: Database | undefined;
  try {
    const fresh = !existsSync(path) || statSync(path).size === 0;
    if (fresh) {
      options.mayCreate();
      makeFolder(dirname(path));
    }
    // Without a lock file, no process has the file open. Check the header before locking: a refused file gets no lock
    // file.
    else if (options.exclusive && !existsSync(lockFileOf(path))) checkHeader(path);
    // Lock before reading: closing any descriptor of a file drops all locks of this process on it.
    if (options.exclusive) release = lockDatabase(path);
    if (fresh) closeSync(openSync(path, "a", 0o600));
    else checkHeader(path);
    database = openDatabase(path);
    const created = isNew(database);
    checkCompatible(database);
    if (!(options.mayMigrate ?? options.exclusive) && !isCurrent(database)) throw new Error(olderSchema);
    migrate(database);
    if (options.exclusive) {
      database
        .prepare("insert into settings values ('server_pid', ?) on conflict do update set value = excluded.value")
        .run(String(process.pid));
    }
    return fromFile(database, path, space, { created, release });
  } catch (error) {
    if (database?.open) database.close();
    release();
    throw error;
  }
}

function fromFile(
  database: Database,
  path: string,
  space: Space,
  about: Pick<OpenDatabase, "created" | "release">,
): OpenSqlite {
  let current = database;
  const checks = createFileChecks(path);
  const open = () => {
    // Throws if the file is missing. SQLite would create it.
    statSync(path);
    const next = openDatabase(path);
    try {
      checkCompatible(next);
    } catch (error) {
      next.close();
      throw error;
    }
    current = next;
    return next;
  };
  const engine = createSqliteEngine(database, { path, ...space, open, closed: checks.end });
  const replace = (image: Buffer) => {
    replaceRows(current, image);
    return opened;
  };
  const opened: OpenSqlite = {
    engine,
    database,
    ...about,
    images: { between: engine.betweenTransactions, take: imagesOf(() => current), replace },
    violations: checks.check,
  };
  return opened;
}

export function refuseFolder(path: string, named = path): void {
  if (existsSync(path) && statSync(path).isDirectory())
    throw new DatabaseError(named, `it is a folder; name a file in it, such as ${join(named, "svc.db")}`);
}

/** Throws for a file on which SQLite would give an obscure error, repair silently, or write before failing. */
export function checkHeader(path: string, named = path): void {
  refuseFolder(path, named);
  const header = Buffer.alloc(100);
  const read = withFile(path, "r", (fd) => readSync(fd, header, 0, 100, 0));
  if (read < 16 || header.toString("latin1", 0, 16) !== "SQLite format 3\0") {
    throw new Error("it is not an SQLite database; name another file, or restore it from a backup");
  }
  const size = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const wal = pagesInWal(`${path}-wal`, size);
  // A single page holds no table: the process that created the file was killed before its first commit.
  const isEmpty = header.readUInt32BE(28) <= 1;
  // Until the first checkpoint, only the WAL has the application id.
  if (read === 100 && !isEmpty && wal.pages.size === 0 && header.readUInt32BE(68) !== applicationId)
    throw new Error(foreignDatabase);
  const pages = wal.count || header.readUInt32BE(28);
  for (let page = Math.floor(statSync(path).size / size) + 1; page <= pages; page++) {
    if (!wal.pages.has(page)) throw new Damage("it is truncated: a part of its end is missing");
  }
}

/** The page numbers in the write-ahead log, and the size of the database in pages after the last commit in it. */
function pagesInWal(path: string, size: number): { pages: Set<number>; count: number } {
  const pages = new Set<number>();
  let count = 0;
  if (!existsSync(path)) return { pages, count };
  withFile(path, "r", (fd) => {
    const salts = Buffer.alloc(8);
    readSync(fd, salts, 0, 8, 16);
    const frame = Buffer.alloc(24);
    for (let at = 32; readSync(fd, frame, 0, 24, at) === 24 && frame.subarray(8, 16).equals(salts); at += 24 + size) {
      pages.add(frame.readUInt32BE(0));
      count = frame.readUInt32BE(4) || count;
    }
  });
  return { pages, count };
}
