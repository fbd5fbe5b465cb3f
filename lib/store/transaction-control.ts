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
