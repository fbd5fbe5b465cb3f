import type { Database, Statement } from "better-sqlite3";
import { codeOf } from "../database-error.ts";

type ControlName =
  | "begin"
  | "commit"
  | "rollback"
  | "savepoint"
  | "release"
  | "rollbackToSavepoint"
  | "beginRead"
  | "dataVersion";

/** The statements that begin and end a group of transactions, or a snapshot for reads. */
export const prepareControl = (database: Database): Record<ControlName, Statement> => ({
  begin: database.prepare("BEGIN IMMEDIATE"),
  commit: database.prepare("COMMIT"),
  rollback: database.prepare("ROLLBACK"),
  savepoint: database.prepare("SAVEPOINT member"),
  release: database.prepare("RELEASE member"),
  rollbackToSavepoint: database.prepare("ROLLBACK TO member"),
  beginRead: database.prepare("BEGIN"),
  dataVersion: database.prepare("PRAGMA data_version").pluck(),
});

/** How often to try for a write lock that another connection holds, and the pause between tries: 2 s in all. */
export const locked = { tries: 200, pause_ms: 5 };

/** Begins a write transaction. Returns false while another connection has the lock; throws after the last try. */
export function createBegin(control: Pick<ReturnType<typeof prepareControl>, "begin">): () => boolean {
  let tries = 0;
  return () => {
    try {
      control.begin.run();
      tries = 0;
      return true;
    } catch (error) {
      if (codeOf(error) !== "SQLITE_BUSY" || ++tries >= locked.tries) {
        tries = 0;
        throw error;
      }
      return false;
    }
  };
}
