import { chmodSync, copyFileSync, cpSync, existsSync, renameSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { hold } from "./files.ts";
import { applicationId } from "./migrate.ts";
import { openPlain } from "./sqlite.ts";
import { Unusable } from "./unusable.ts";

const keyOf = (path: string) => `${path}.key`;
const filesOf = (path: string) => `${path}-files`;
const sides = ["-wal", "-shm"];

/** Throws a sentence where a database is not whole, or not ours. */
export function judge(path: string): void {
  let database: Database | undefined;
  try {
    database = openPlain(path);
    const found = database.pragma("integrity_check", { simple: true });
    if (found !== "ok") throw new Error(`it is damaged: ${found}`);
    if (database.pragma("application_id", { simple: true }) !== applicationId)
      throw new Error("it is not a database of svc-server");
  } catch (error) {
    throw new Unusable(path, (error as Error).message, error);
  } finally {
    database?.close();
  }
}

function refuseExisting(path: string, force: boolean): void {
  const there = [path, keyOf(path)].find(existsSync);
  if (there && !force) throw new Unusable(there, "it is there already; name another file, or say --force");
}

/**
 * Copies a database that a server may be running on, with its key file, into a file of its own, and checks the copy. The
 * copy is one moment of the database; both files can be read by their owner alone.
 */
export async function backup(from: string, to: string, { force }: { readonly force: boolean }): Promise<void> {
  const [source, target] = [resolve(from), resolve(to)];
  if (!existsSync(source)) throw new Unusable(source, "it does not exist; name the database with --database");
  if (!existsSync(keyOf(source)))
    throw new Unusable(keyOf(source), "the key file is missing, without which a backup is of no use");
  if (source === target) throw new Unusable(target, "it is the database itself; name another file");
  refuseExisting(target, force);
  const half = `${target}.new`;
  rmSync(half, { force: true });
  const database = openPlain(source);
  try {
    await database.backup(half);
  } finally {
    database.close();
  }
  chmodSync(half, 0o600);
  judge(half);
  copyKey(source, target);
  copyFiles(source, target);
  renameSync(half, target);
}

/** Puts a backup and its key in the place of a database. No server may be running there. */
export function restore(from: string, to: string, { force }: { readonly force: boolean }): void {
  const [source, target] = [resolve(from), resolve(to)];
  for (const needed of [source, keyOf(source)])
    if (!existsSync(needed)) throw new Unusable(needed, "it does not exist; a backup is a database and its .key file");
  if (source === target) throw new Unusable(target, "it is the backup itself; name the database with --database");
  refuseExisting(target, force);
  judge(source);
  const release = hold(target);
  try {
    const half = `${target}.new`;
    copyFileSync(source, half);
    chmodSync(half, 0o600);
    // What a log beside the old database holds must never be taken for the new one's.
    for (const side of sides) rmSync(target + side, { force: true });
    copyKey(source, target);
    copyFiles(source, target);
    renameSync(half, target);
  } finally {
    release();
  }
}

/** A file is there before its row says so: copied after the rows, none that they name is missing. */
function copyFiles(source: string, target: string): void {
  rmSync(filesOf(target), { recursive: true, force: true });
  if (existsSync(filesOf(source))) cpSync(filesOf(source), filesOf(target), { recursive: true });
}

function copyKey(source: string, target: string): void {
  const half = `${keyOf(target)}.new`;
  copyFileSync(keyOf(source), half);
  chmodSync(half, 0o600);
  renameSync(half, keyOf(target));
}
