import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseUrl } from "../kernel/text/url.ts";

/** Whether this is a PostgreSQL URL, not a file path. */
export const isPostgres = (database: string): boolean => /^postgres(ql)?:/.test(database);

/** Other URLs are refused: as paths, they would name folders with a password. `sqlite://` is ambiguous. */
export const databaseRule = "must be the path of a file, or a URL that begins with postgres://";
export const isOtherUrl = (database: string): boolean =>
  /^(\w[\w+.-]*:\/\/|(file|sqlite3?):)/i.test(database) && !isPostgres(database);

export const isMissing = (database: string): boolean => !isPostgres(database) && !existsSync(database);

/** Makes a database safe to show: a URL loses its password and parameters, a path is unchanged. */
export function withoutPassword(database: string): string {
  if (!isPostgres(database)) return database;
  const { protocol, username, host, pathname } = parseUrl(database) ?? new URL("postgres://");
  return `${protocol}//${username && `${username}@`}${host}${pathname}`;
}

/** A database as shown to operators: an absolute path, or a URL without its password. */
export const describeDatabase = (database: string): string =>
  isPostgres(database) ? withoutPassword(database) : resolve(database);
