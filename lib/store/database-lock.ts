import { existsSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { DatabaseError, describeError } from "./database-error.ts";
import { openRaw } from "./sqlite.ts";

export const lockFileOf = (path: string) => `${path}.lock`;

/**
 * Locks a database for this process, and returns the function that unlocks it. The lock is one of the operating system,
 * on a small database beside the file: it ends with the process, so a crash never leaves one behind. The database
 * itself stores the pid of its server.
 */
export function lockDatabase(path: string): () => void {
  let lock: Database | undefined;
  try {
    lock = openRaw(lockFileOf(path));
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

/** The server that runs on a database: `svc-server (pid 7)`; undefined without one. */
export function runningServer(path: string): string | undefined {
  // Opening a lock file would create a missing one.
  if (!existsSync(`${path}.lock`)) return undefined;
  try {
    lockDatabase(path)();
    return undefined;
  } catch {
    return `svc-server${lockHolder(path)}`;
  }
}

function lockHolder(path: string): string {
  // SQLite creates a missing file.
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
