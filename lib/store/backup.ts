import { chmodSync, copyFileSync, cpSync, existsSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseError, describeError } from "./database-error.ts";
import { lockDatabase } from "./database-files.ts";
import { assetFolderOf, checkDatabase, checkKey, damagedAssets, keyFileOf } from "./integrity-check.ts";
import { openRaw } from "./sqlite.ts";

const sides = ["-wal", "-shm"];

function refuseTarget(target: string, force: boolean): void {
  const folder = dirname(target);
  if (!existsSync(folder))
    throw new DatabaseError(target, `the folder ${folder} does not exist; make it, or name another`);
  const there = [target, keyFileOf(target)].find(existsSync);
  if (there && !force) throw new DatabaseError(there, "it is there already; name another file, or say --force");
}

/** What was copied, but for the files of these generations, which are missing or changed where they came from. */
export interface CopyResult {
  readonly lost: readonly string[];
}

/**
 * Copies a database that a server may be running on, with its key file and its files, and checks the copy. The copy is
 * one moment of the database; both it and the key can be read by their owner alone.
 */
export async function backup(from: string, to: string, { force }: { readonly force: boolean }): Promise<CopyResult> {
  const [source, target] = [resolve(from), resolve(to)];
  if (!existsSync(source)) throw new DatabaseError(source, "it does not exist; name the database with --database");
  if (!existsSync(keyFileOf(source)))
    throw new DatabaseError(keyFileOf(source), "the key file is missing, without which a backup is of no use");
  if (source === target) throw new DatabaseError(target, "it is the database itself; name another file");
  refuseTarget(target, force);
  checkKey(source);
  const half = `${target}.new`;
  try {
    rmSync(half, { force: true });
    const database = openRaw(source);
    try {
      await database.backup(half);
    } finally {
      database.close();
    }
    chmodSync(half, 0o600);
    checkDatabase(half);
    return putInPlace(half, source, target);
  } catch (error) {
    throw told(target, error);
  }
}

/** Puts a backup, its key and its files in the place of a database. No server may be running there. */
export function restore(from: string, to: string, { force }: { readonly force: boolean }): CopyResult {
  const [source, target] = [resolve(from), resolve(to)];
  for (const needed of [source, keyFileOf(source)])
    if (!existsSync(needed))
      throw new DatabaseError(needed, "it does not exist; a backup is a database and its .key file");
  if (source === target) throw new DatabaseError(target, "it is the backup itself; name the database with --database");
  refuseTarget(target, force);
  checkDatabase(source);
  checkKey(source);
  const release = lockDatabase(target);
  try {
    const half = `${target}.new`;
    copyFileSync(source, half);
    chmodSync(half, 0o600);
    // What a log beside the old database holds must never be taken for the new one's.
    for (const side of sides) rmSync(target + side, { force: true });
    return putInPlace(half, source, target);
  } catch (error) {
    throw told(target, error);
  } finally {
    release();
  }
}

const told = (target: string, error: unknown) =>
  error instanceof DatabaseError ? error : new DatabaseError(target, describeError(error), error);

/** The database comes last, so that what is in its place always has its key and its files. */
function putInPlace(half: string, source: string, target: string): CopyResult {
  copyKey(source, target);
  // A file is there before its row says so: copied after the rows, none that they name is missing.
  rmSync(assetFolderOf(target), { recursive: true, force: true });
  if (existsSync(assetFolderOf(source))) cpSync(assetFolderOf(source), assetFolderOf(target), { recursive: true });
  const lost = damagedAssets(half, assetFolderOf(target));
  renameSync(half, target);
  return { lost };
}

function copyKey(source: string, target: string): void {
  const half = `${keyFileOf(target)}.new`;
  copyFileSync(keyFileOf(source), half);
  chmodSync(half, 0o600);
  renameSync(half, keyFileOf(target));
}
