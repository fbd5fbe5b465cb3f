import { existsSync } from "node:fs";
import type { Settings } from "../config/parse-options.ts";
import { createRandom } from "../kernel/random.ts";
import { DatabaseError, describeError } from "../store/database-error.ts";
import { isPostgres, withoutPassword } from "../store/database-url.ts";
import { parseKey, readKey, readOrCreateKey, wrongKey } from "../store/encryption.ts";
import { keyInForce } from "../store/transfer/next-key.ts";

type GivenKey = Pick<Settings, "database" | "encryptionKey" | "keyFile">;

/**
 * The key of a PostgreSQL database. No process makes one at its start, because another process would make a different
 * key. `mayBeNew` allows an empty database, for which the operator has to make a key.
 */
export function givenKey(
  { database, encryptionKey, keyFile }: GivenKey,
  { mayBeNew = false }: { readonly mayBeNew?: boolean } = {},
): Buffer {
  const key = encryptionKey === undefined ? undefined : parseKey(encryptionKey);
  if (key) return key;
  if (keyFile === undefined) {
    const reason = "it needs its encryption key, in SVC_ENCRYPTION_KEY or a file that --key-file names";
    const which = "; no other key reads the secrets of a database with data";
    const hint = mayBeNew ? ". For a new database, make one with: openssl rand -base64 32" : "";
    throw new DatabaseError(withoutPassword(database), reason + which + hint);
  }
  try {
    return readKey(keyFile);
  } catch (error) {
    throw new DatabaseError(withoutPassword(database), `the key file ${keyFile}: ${describeError(error)}`, error);
  }
}

export const wrongKeyOf = ({ database }: Settings) =>
  isPostgres(database) ? wrongKey(withoutPassword(database), "the key") : wrongKey(database);

/** The key file beside the database. Made only for a new database: a new key could not read existing secrets. */
export function keyOf(settings: Settings, fingerprint: string | undefined): Buffer {
  if (isPostgres(settings.database)) return givenKey(settings);
  const path = keyInForce(settings.database, fingerprint);
  if (fingerprint !== undefined && !existsSync(path)) {
    const reason = `its key file ${path} is missing; restore it from the backup: secrets cannot be read without it`;
    throw new DatabaseError(settings.database, reason);
  }
  try {
    return readOrCreateKey(path, createRandom().bytes);
  } catch (error) {
    throw new DatabaseError(settings.database, `its key file ${path}: ${describeError(error)}`, error);
  }
}
