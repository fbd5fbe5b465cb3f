import { chmodSync, copyFileSync, cpSync, existsSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseError } from "./database-error.ts";
import { lockDatabase } from "./database-files.ts";
import { assetFolderOf, checkDatabase, checkKey, damagedAssets, keyFileOf } from "./integrity-check.ts";
import { openRaw } from "./sqlite.ts";

const walFiles = ["-wal", "-shm"];

function refuseTarget(target: string, force: boolean): void {
  const folder = dirname(target);
  if (!existsSync(folder))
    throw new DatabaseError(target, `the folder ${folder} does not exist; make it, or name another`);
  const existing = [target, keyFileOf(target)].find(existsSync);
  if (existing && !force) throw new DatabaseError(existing, "it is there already; name another file, or say --force");
}

/** Everything was copied but the files of the generations in `lost`, which are missing or damaged in the source. */
export interface CopyResult {
  readonly lost: readonly string[];
}

/**
 * Copies a database with its key file and its assets, and checks the copy. A server may be running on the database: the
 * copy is a consistent snapshot. The copy and its key are readable by their owner alone.
 */
export async function backup(from: string, to: string, { force }: { readonly force: boolean }): Promise<CopyResult> {
  const [source, target] = [resolve(from), resolve(to)];
  if (!existsSync(source)) throw new DatabaseError(source, "it does not exist; name the database with --database");
  if (!existsSync(keyFileOf(source)))
    throw new DatabaseError(keyFileOf(source), "the key file is missing, without which a backup is of no use");
  if (source === target) throw new DatabaseError(target, "it is the database itself; name another file");
  refuseTarget(target, force);
  checkKey(source);
  const temporary = `${target}.new`;
  try {
    rmSync(temporary, { force: true });
    const database = openRaw(source);
    try {
      await database.backup(temporary);
    } finally {
      database.close();
    }
    chmodSync(temporary, 0o600);
    checkDatabase(temporary);
    return moveIntoPlace(temporary, source, target);
  } catch (error) {
    throw DatabaseError.from(target, error);
  }
}

/** Replaces a database by a backup, with its key and its assets. No server may be running on the database. */
export function restore(from: string, to: string, { force }: { readonly force: boolean }): CopyResult {
  const [source, target] = [resolve(from), resolve(to)];
  for (const needed of [source, keyFileOf(source)])
    if (!existsSync(needed))
      throw new DatabaseError(needed, "it does not exist; a backup is a database and its .key file");
  if (source === target) throw new DatabaseError(target, "it is the backup itself; name the database with --database");
  refuseTarget(target, force);
  checkDatabase(source);
  checkKey(source);
  const unlock = lockDatabase(target);
  try {
    const temporary = `${target}.new`;
    copyFileSync(source, temporary);
    chmodSync(temporary, 0o600);
    // SQLite must not apply the WAL of the old database to the new one.
    for (const suffix of walFiles) rmSync(target + suffix, { force: true });
    return moveIntoPlace(temporary, source, target);
  } catch (error) {
    throw DatabaseError.from(target, error);
  } finally {
    unlock();
  }
}

/** Moves the database into place last, so that a database in place always has its key and its assets. */
function moveIntoPlace(temporary: string, source: string, target: string): CopyResult {
  copyKey(source, target);
  // A server stores a file before its row, so every file that the copied rows name exists by now.
  rmSync(assetFolderOf(target), { recursive: true, force: true });
  if (existsSync(assetFolderOf(source))) cpSync(assetFolderOf(source), assetFolderOf(target), { recursive: true });
  const lost = damagedAssets(temporary, assetFolderOf(target));
  renameSync(temporary, target);
  return { lost };
}

function copyKey(source: string, target: string): void {
  const temporary = `${keyFileOf(target)}.new`;
  copyFileSync(keyFileOf(source), temporary);
  chmodSync(temporary, 0o600);
  renameSync(temporary, keyFileOf(target));
}
