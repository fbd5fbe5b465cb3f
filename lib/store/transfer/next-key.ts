import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fingerprintOf, keyFileOf, readKey } from "../encryption.ts";
import { syncFolder } from "../sync-folder.ts";

/** The new key of a rotation, until its transaction is committed. */
export const nextKeyOf = (database: string) => `${keyFileOf(database)}.next`;

/**
 * Finishes or undoes an interrupted key rotation, which left its new key beside the old one. The fingerprint in the
 * database says which of them is in force. Returns a sentence about it; undefined if no rotation was interrupted. The
 * caller holds the database lock.
 */
export function settleNextKey(database: string, fingerprint: string | undefined): string | undefined {
  const [present, next] = [keyFileOf(database), nextKeyOf(database)];
  if (!existsSync(next)) return undefined;
  if (fingerprintOf(readKey(next)) !== fingerprint) {
    rmSync(next);
    return "a rotation of the encryption key was interrupted before it took effect: the old key is in force";
  }
  renameSync(next, present);
  syncFolder(dirname(resolve(present)));
  return "a rotation of the encryption key was interrupted after it took effect: the new key is in force";
}

/** The file of the key in force. After an interrupted rotation there are two key files. */
export function keyInForce(database: string, fingerprint: string | undefined): string {
  const next = nextKeyOf(database);
  return existsSync(next) && fingerprintOf(readKey(next)) === fingerprint ? next : keyFileOf(database);
}
