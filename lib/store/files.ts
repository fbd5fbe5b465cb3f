import { closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Database } from "better-sqlite3";
import type { Engine } from "./engine.ts";
import { isCurrent, isNew, migrate } from "./migrate.ts";
import { createSqliteEngine, openDatabase, openPlain } from "./sqlite.ts";
import { Unusable } from "./unusable.ts";

/** An opened database, before it is a store: what else lives in the file, and how to let it go. */
export interface Opened {
  readonly engine: Engine;
  readonly database: Database;
  /** Whether this very opening made it. */
  readonly created: boolean;
  release(): void;
}

let image: Buffer | undefined;

/** A database in memory. The migrated image is kept, so that the next one opens in a fraction of a millisecond. */
export function openMemory(): Opened {
  if (!image) {
    const first = openDatabase(":memory:");
    migrate(first);
    image = first.serialize();
    first.close();
  }
  const database = openDatabase(image);
  return {
    engine: createSqliteEngine(database),
    database,
    created: true,
    release: () => {},
  };
}

/**
 * A database in a file, held by this process alone until `release`. Refuses with one sentence, and never repairs or
 * makes anew, what is truncated, foreign, newer, read-only or held by another server.
 */
export function openFile(file: string, options: { mayCreate: () => void; exclusive: boolean }): Opened {
  const path = resolve(file);
  const fresh = !existsSync(path) || statSync(path).size === 0;
  if (!fresh) inspect(path);
  else {
    options.mayCreate();
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true });
  }
  const release = options.exclusive ? hold(path) : () => {};
  let database: Database | undefined;
  try {
    database = openDatabase(path);
    const created = isNew(database);
    if (!options.exclusive && !isCurrent(database))
      throw new Error("its schema is older than this svc-server; start the server on it once");
    migrate(database);
    if (options.exclusive) {
      database
        .prepare("insert into settings values ('server_pid', ?) on conflict do update set value = excluded.value")
        .run(String(process.pid));
    }
    return { engine: createSqliteEngine(database), database, created, release };
  } catch (error) {
    if (database?.open) database.close();
    release();
    throw new Unusable(path, sentence(error), error);
  }
}

/** What can be seen without opening it, and what SQLite would answer with puzzling words or repair in silence. */
function inspect(path: string): void {
  const stats = statSync(path);
  if (stats.isDirectory()) throw new Unusable(path, `it is a folder; name a file in it, such as ${path}/svc.db`);
  const header = Buffer.alloc(100);
  const fd = openSync(path, "r");
  const read = readSync(fd, header, 0, 100, 0);
  closeSync(fd);
  if (read < 16 || header.toString("latin1", 0, 16) !== "SQLite format 3\0") {
    throw new Unusable(path, "it is not an SQLite database; name another file, or restore it from a backup");
  }
  const page = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const wal = existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0;
  if (read < 100 || (!wal && stats.size < header.readUInt32BE(28) * page)) {
    throw new Unusable(path, "it is truncated: a part of its end is missing; restore it from a backup");
  }
}

/**
 * Holds the file for this process, as a lock of the operating system on a small database beside it: it ends with the
 * process, so none is ever left behind by a crash. The holder's pid is a row of the database itself.
 */
function hold(path: string): () => void {
  let lock: Database | undefined;
  try {
    lock = openPlain(`${path}.lock`);
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    if (String((error as { code?: string }).code).startsWith("SQLITE_BUSY")) {
      throw new Unusable(
        path,
        `another svc-server${holder(path)} is running on it; stop that one, or name another file`,
      );
    }
    throw new Unusable(path, sentence(error), error);
  }
  return () => lock.close();
}

function holder(path: string): string {
  try {
    const database = openPlain(path);
    const row = database.prepare("select value from settings where name = 'server_pid'").get() as
      | { value: string }
      | undefined;
    database.close();
    return row ? ` (pid ${row.value})` : "";
  } catch {
    return "";
  }
}

function sentence(error: unknown): string {
  const code = String((error as { code?: string }).code ?? "");
  if (code.startsWith("SQLITE_READONLY") || code === "EACCES" || code === "EROFS" || code === "SQLITE_CANTOPEN") {
    return "the file or its folder is read-only or cannot be opened; give this user the right to write there";
  }
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") return "it is damaged; restore it from a backup";
  if (code.startsWith("SQLITE_BUSY")) return "another program holds it; close that one first";
  if (code.startsWith("SQLITE_FULL") || code === "ENOSPC") return "the disk is full; make room first";
  return (error as Error).message;
}
