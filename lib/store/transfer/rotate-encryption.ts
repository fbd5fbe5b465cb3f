import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Client } from "pg";
import { createRandom } from "../../kernel/random.ts";
import { DatabaseError } from "../database-error.ts";
import { isPostgres, withoutPassword } from "../database-url.ts";
import { createEncryption, fingerprintOf, keyFileOf, readKey, writeKey, wrongKey } from "../encryption.ts";
import { isCurrent, olderSchema } from "../migrate.ts";
import { askOf, onPostgres } from "../postgres/command-connection.ts";
import { takeCopyLock } from "../postgres/copy-lock.ts";
import { checkServer, migratePostgres } from "../postgres/migrate.ts";
import { sealedColumns } from "../sealed-columns.ts";
import { settleSwitch } from "../sqlite/atomic-switch.ts";
import { openDatabase } from "../sqlite/connection.ts";
import { lockDatabase } from "../sqlite/database-lock.ts";
import { askOf as askOfFile } from "./copy-sqlite.ts";
import { type Ask, pagesOf, tablesInOrder } from "./copy-tables.ts";
import { nextKeyOf, settleNextKey } from "./next-key.ts";
import type { Report } from "./progress.ts";

export interface Rotation {
  /** The number of re-encrypted values; undefined if the new key was already in force. */
  readonly values: number | undefined;
  /** A sentence about an earlier, interrupted rotation. */
  readonly earlier?: string | undefined;
  /** Whether the operator has to pass the key to servers, because no file beside the database holds it. */
  readonly isGiven?: true;
}

/** Re-encrypts every secret of a database in the transaction of `ask`. Returns the number of values. */
async function encryptAgain(
  ask: Ask,
  database: string,
  { before, after, report }: { before: Buffer; after: Buffer; report: Report },
): Promise<number | undefined> {
  const [vault] = await ask("select value from settings where name = 'vault'");
  if (vault?.["value"] === fingerprintOf(after)) return undefined;
  if (vault?.["value"] !== fingerprintOf(before))
    throw isPostgres(database) ? wrongKey(withoutPassword(database), "the key") : wrongKey(database);
  const { bytes } = createRandom();
  const [old, fresh] = [createEncryption(before, bytes), createEncryption(after, bytes)];
  let values = 0;
  const reseal = (context: string, sealed: string) => {
    values += 1;
    return fresh.encrypt(context, old.decrypt(context, sealed));
  };
  for (const { table, column, again } of sealedColumns) {
    const place = tablesInOrder().find(({ name }) => name === table);
    if (!place) throw new Error(`no copy has the table ${table}, so its column ${column} cannot be encrypted anew`);
    const { key } = place;
    const keys = key.map((_, i) => `$${i + 2}`).join(", ");
    const [counted] = await ask(`select count(*) as rows from "${table}"`);
    let done = 0;
    for await (const rows of pagesOf(ask, place)) {
      for (const row of rows) {
        const text = again(row, reseal);
        const values = [text, ...key.map((name) => row[name] ?? "")];
        if (text !== row[column])
          await ask(`update "${table}" set ${column} = $1 where (${key.join(", ")}) = (${keys})`, values);
      }
      done += rows.length;
      report({ what: `encrypting ${table}`, done, total: Number(counted?.["rows"]) });
    }
  }
  await ask("update settings set value = $1 where name = 'vault'", [fingerprintOf(after)]);
  return values;
}

/** The key is in a file. The new key is stored next to it before the commit, and replaces it afterwards. */
async function rotateFile(path: string, after: Buffer, report: Report): Promise<Rotation> {
  settleSwitch(path);
  if (!existsSync(path)) throw new DatabaseError(path, "it does not exist; name another file");
  const unlock = lockDatabase(path);
  try {
    const database = openDatabase(path);
    try {
      if (!isCurrent(database)) throw new Error(olderSchema);
      // Leave no values under the old key in unused pages.
      database.pragma("secure_delete = ON");
      const ask = askOfFile(database);
      const [vault] = await ask("select value from settings where name = 'vault'");
      const earlier = settleNextKey(path, vault && String(vault["value"]));
      const before = readKey(keyFileOf(path));
      if (!before.equals(after)) writeKey(nextKeyOf(path), after);
      database.exec("begin immediate");
      const values = await encryptAgain(ask, path, { before, after, report });
      database.exec("commit");
      settleNextKey(path, fingerprintOf(after));
      database.pragma("wal_checkpoint(TRUNCATE)");
      return { values, earlier };
    } finally {
      database.close();
    }
  } catch (error) {
    throw DatabaseError.from(path, error);
  } finally {
    unlock();
  }
}

/** With PostgreSQL the operator holds the key, and starts the servers with the new one afterwards. */
async function rotatePostgres(url: string, before: Buffer, after: Buffer, report: Report): Promise<Rotation> {
  const client: Client = await onPostgres(url, { readOnly: false }, async (opened) => {
    await checkServer(opened);
    await takeCopyLock(opened);
    await migratePostgres(opened, { mayChange: false });
    return opened;
  });
  try {
    await client.query("begin");
    const values = await encryptAgain(askOf(client), url, { before, after, report });
    await client.query("commit");
    return { values, isGiven: true };
  } catch (error) {
    throw DatabaseError.from(withoutPassword(url), error);
  } finally {
    await client.end();
  }
}

/**
 * Re-encrypts every secret of a database with a new key, in one transaction, while no server is running. After a kill,
 * either the old key or the new one is in force. `before` returns the current key of a PostgreSQL database.
 */
export const rotateEncryption = (
  database: string,
  after: Buffer,
  before: () => Buffer,
  report: Report,
): Promise<Rotation> =>
  isPostgres(database)
    ? rotatePostgres(database, before(), after, report)
    : rotateFile(resolve(database), after, report);
