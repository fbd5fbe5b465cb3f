import { codeOf, DatabaseError, describeError } from "../database-error.ts";
import { isPostgres, withoutPassword } from "../database-url.ts";
import { fingerprintOf, keyFileOf, readKey, wrongKey } from "../encryption.ts";
import { describePostgres } from "../postgres/errors.ts";
import { type CopyReport, copyService, type Progress } from "./copy.ts";
import { openPostgresSource, openPostgresTarget } from "./copy-postgres.ts";
import { type Source, type Target, vaultOf } from "./copy-sides.ts";
import { openSqliteSource, openSqliteTarget } from "./copy-sqlite.ts";

interface CopyRequest {
  /** `from` and `to`: one is the path of a database file, the other a PostgreSQL URL. */
  readonly from: string;
  readonly to: string;
  /** The encryption key from the options. Required when copying to a file. */
  readonly key: Buffer | undefined;
  /** The folder of generation files on the PostgreSQL side; undefined if they are in the database. */
  readonly folder: string | undefined;
}

/** Copies a service between a database file and PostgreSQL. */
export async function copyDatabases(request: CopyRequest, report: (progress: Progress) => void): Promise<CopyReport> {
  const source = await openSource(request);
  let target: Target | undefined;
  try {
    target = await openTarget(request, source);
    return await copyService(source, target, report);
  } catch (error) {
    if (error instanceof DatabaseError || !target) throw error;
    const reason = `${reasonOf(error)}; then run the same command again, which starts over`;
    throw new Error(`the copy is not finished: ${reason}`, { cause: error });
  } finally {
    await target?.close().catch(() => {});
    await source.close().catch(() => {});
  }
}

function reasonOf(error: unknown): string {
  if (/^SQLITE_|^ENOSPC$/.test(codeOf(error))) return describeError(error);
  return describePostgres(error);
}

async function openSource({ from, folder }: CopyRequest): Promise<Source> {
  if (!isPostgres(from)) return openSqliteSource(from);
  return openPostgresSource(from, folder, { alone: true });
}

async function openTarget({ from, to, key, folder }: CopyRequest, source: Source): Promise<Target> {
  if (key !== undefined && fingerprintOf(key) !== (await vaultOf(source))) {
    if (isPostgres(from)) throw wrongKey(withoutPassword(from), "the key");
    throw new DatabaseError(from, `its key is in ${keyFileOf(from)}, but another key was given; leave that one out`);
  }
  if (!isPostgres(to)) return openSqliteTarget(to, key ?? readKey(keyFileOf(from)));
  return openPostgresTarget(to, folder);
}
