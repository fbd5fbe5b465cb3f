import { existsSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { codeOf, DatabaseError, describeError } from "../database-error.ts";
import { openRaw } from "./connection.ts";

export const lockFileOf = (path: string) => `${path}.lock`;

/**
 * Locks a database for this process, and returns the function that unlocks it. The lock is an operating-system lock on
 * a small SQLite file beside the database, so it ends with the process and a crash leaves no stale lock. The database
 * itself stores the pid of its server.
 */
export function lockDatabase(path: string): () => void {
  let lock: Database | undefined;
  try {
    lock = openRaw(lockFileOf(path));
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    if (codeOf(error).startsWith("SQLITE_BUSY")) {
      throw new DatabaseError(
        path,
        `another svc-server${lockHolder(path)} is running on it; stop that one, or name another file`,
      );
    }
    throw new DatabaseError(path, describeError(error), error);
  }
  return () => lock.close();
}

/** The server that runs on a database, such as `svc-server (pid 7)`; undefined if there is none. */
export function runningServer(path: string): string | undefined {
  // Do not create a lock file just by looking.
  if (!existsSync(`${path}.lock`)) return undefined;
  try {
    lockDatabase(path)();
    return undefined;
  } catch {
    return `svc-server${lockHolder(path)}`;
  }
}

function lockHolder(path: string): string {
  // Do not let SQLite create the file.
  if (!existsSync(path)) return "";
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
