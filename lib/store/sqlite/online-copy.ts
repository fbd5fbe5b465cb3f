import { closeSync, openSync, rmSync, statSync } from "node:fs";
import type { Report } from "../transfer/progress.ts";
import { freeBytes } from "../write-failure.ts";
import { openRaw } from "./connection.ts";
import { runningServer } from "./database-lock.ts";

const megabyte = 1024 * 1024;
const allPages = 2 ** 31 - 1;

/**
 * Copies a served database with SQLite's backup, in one step: between steps, a commit would restart it. The source is
 * opened by SQLite only: closing any other descriptor of it would drop the locks of this process.
 */
export async function copyOnline(source: string, target: string, report: Report = () => {}): Promise<void> {
  // Only the owner may read it.
  closeSync(openSync(target, "w", 0o600));
  const database = openRaw(source);
  const total = Math.ceil(statSync(source).size / megabyte);
  const at = (done: number) => report({ what: "copying the database, in MB", done, total });
  try {
    at(0);
    await database.backup(target, { progress: () => allPages });
    at(total);
  } finally {
    database.close();
  }
}

/** Below this size, reading is so fast that a copy is not needed. */
const small = 32 * megabyte;

const copyFor = (path: string) => `${path}.checked`;

export function removeCopy(path: string): void {
  for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(copyFor(path) + end, { force: true });
}

/**
 * Runs work that reads a whole database. If a server is writing to a large one, the work gets a copy, unless the copy
 * could fill the disk. The server itself passes `isServed`.
 */
export async function withCopy<T>(path: string, work: (path: string) => T, isServed?: true): Promise<T> {
  const { size } = statSync(path);
  const needsCopy = size >= small && (isServed ?? runningServer(path) !== undefined);
  if (!needsCopy || freeBytes(path) < 2 * size) return work(path);
  // A killed check may have left a copy.
  removeCopy(path);
  try {
    await copyOnline(path, copyFor(path));
    return work(copyFor(path));
  } finally {
    removeCopy(path);
  }
}
