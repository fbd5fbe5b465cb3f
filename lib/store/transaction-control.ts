import type { Database, Statement } from "better-sqlite3";

type Step =
  | "begin"
  | "commit"
  | "rollback"
  | "savepoint"
  | "release"
  | "rollbackToSavepoint"
  | "beginRead"
  | "dataVersion";

/** The statements around a group of transactions, and around its reads. */
export function prepareControl(database: Database): Readonly<Record<Step, Statement>> {
  return {
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
    savepoint: database.prepare("SAVEPOINT member"),
    release: database.prepare("RELEASE member"),
    rollbackToSavepoint: database.prepare("ROLLBACK TO member"),
    beginRead: database.prepare("BEGIN"),
    dataVersion: database.prepare("PRAGMA data_version").pluck(),
  };
}

/** How often a group asks for a write lock that another connection holds, and the pause in milliseconds: 2 s in all. */
export const locked = { tries: 200, pause_ms: 5 };

/**
 * Begins a transaction that writes. Returns false if another connection holds the write lock: SQLite itself would wait
 * and block the event loop.
 */
export function createBegin(control: Pick<ReturnType<typeof prepareControl>, "begin">): () => boolean {
  let tries = 0;
  return () => {
    try {
      control.begin.run();
      tries = 0;
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "SQLITE_BUSY" || ++tries >= locked.tries) {
        tries = 0;
        throw error;
      }
      return false;
    }
  };
}
