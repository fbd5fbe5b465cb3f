import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { etagOf } from "../asset-files.ts";
import { Damage, DatabaseError, describeError } from "../database-error.ts";
import { isPostgres } from "../database-url.ts";
import { fingerprintOf, keyFileOf, readKey, wrongKey } from "../encryption.ts";
import { type Violation, violationsOf } from "../invariants.ts";
import { checkCompatible, isCurrent, isNew, olderSchema } from "../migrate.ts";
import { onPostgres } from "../postgres/command-connection.ts";
import { openRaw } from "../sqlite/connection.ts";
import { checkHeader } from "../sqlite/database-files.ts";
import { withCopy } from "../sqlite/online-copy.ts";
import type { Row } from "../tables.ts";
import type { Report } from "./progress.ts";

/** The folder beside a database for the files of its generations. */
export const assetFolderOf = (path: string) => `${path}-files`;

/** For error messages: the path that the operator named, if it differs, and the remedy for damage. */
interface Words {
  readonly named?: string;
  readonly remedy?: string;
}

/** Throws a DatabaseError if a database is damaged or empty, or if this version cannot open it. */
export function checkDatabase(path: string, words?: Words): void {
  withDatabase(path, words, (database) => {
    const result = String(database.pragma("integrity_check", { simple: true }));
    // The first line only names the database.
    if (result !== "ok") throw new Damage(`it is damaged (${result.split("\n").at(-1)})`);
    checkCompatible(database);
    if (isNew(database)) throw new Error("it has no tables; name a database of svc-server");
  });
}

/** Throws a DatabaseError if the key file does not match the database. */
export function checkKey(path: string, { named = path }: Words = {}): void {
  const key = keyFileOf(named);
  const expected = withDatabase(path, { named }, (database) =>
    database.prepare("select value from settings where name = 'vault'").pluck().get(),
  );
  let fingerprint: string;
  try {
    fingerprint = fingerprintOf(readKey(keyFileOf(path)));
  } catch (error) {
    throw new DatabaseError(named, `its key file ${key}: ${describeError(error)}`, error);
  }
  if (expected !== undefined && expected !== fingerprint) throw wrongKey(named, `the key file ${key}`);
}

/** Checks the rules of the store. Throws a DatabaseError if the database cannot be read. */
export const checkRules = (path: string, words?: Words): Violation[] =>
  withDatabase(path, words, (database) => {
    if (!isCurrent(database)) throw new Error(olderSchema);
    return violationsOf(database);
  });

/** A preview whose pull or merge request should be open. */
export type OpenPreview = Pick<Row<"previews">, "repo" | "number" | "project_id" | "environment">;
const openPreviews =
  "select repo, number, project_id, environment from previews where status = 'open' order by repo, number, project_id";

/** The open previews of a database, in a file or on PostgreSQL. A server may be running. */
export const openPreviewsIn = async (database: string): Promise<readonly OpenPreview[]> =>
  isPostgres(database)
    ? onPostgres(database, { readOnly: true }, async (client) => {
        const { rows } = await client.query<OpenPreview>(openPreviews);
        await client.end();
        return rows;
      })
    : withCopy(database, (path) =>
        withDatabase(path, { named: database }, (copy) => copy.prepare(openPreviews).all() as OpenPreview[]),
      );

/** Ids of generations whose file is missing or changed. Reads every byte. */
export function damagedAssets(path: string, words?: Words, report: Report = () => {}): string[] {
  const stored = withDatabase(path, words, (database) => {
    const hasGenerations =
      database.prepare("select 1 from sqlite_schema where name = 'generations'").get() !== undefined;
    return hasGenerations
      ? database.prepare("select id, etag from generations where content_type is not null order by id").all()
      : [];
  }) as { id: string; etag: string }[];
  return stored.flatMap(({ id, etag }, done) => {
    report({ what: "checking files of generations", done, total: stored.length });
    return storedEtag(join(assetFolderOf(path), id)) === etag ? [] : [id];
  });
}

function storedEtag(file: string): string | undefined {
  try {
    return etagOf(readFileSync(file));
  } catch {
    // Missing, unreadable, or a folder: a link to it would answer 404.
    return undefined;
  }
}

function withDatabase<T>(path: string, { named = path, remedy }: Words = {}, work: (database: Database) => T): T {
  let database: Database | undefined;
  try {
    checkHeader(path, named);
    database = openRaw(path);
    return work(database);
  } catch (error) {
    throw DatabaseError.from(named, error, remedy);
  } finally {
    database?.close();
  }
}
