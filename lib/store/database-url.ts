import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseUrl } from "../kernel/url.ts";

/** Whether a database is one of PostgreSQL, and no file. */
export const isPostgres = (database: string): boolean => /^postgres(ql)?:/.test(database);

/** The kind of a database that is neither. It would become the name of a folder, with the password in it. */
export const databaseRule = "must be the path of a file, or a URL that begins with postgres://";
export const isOtherUrl = (database: string): boolean => /^\w[\w+.-]*:\/\//.test(database) && !isPostgres(database);

/** Whether it is the path of a file that is not there. */
export const isMissing = (database: string): boolean => !isPostgres(database) && !existsSync(database);

/** The path of a file as it is; a URL without its password and its settings, so that it can be shown. */
export function withoutPassword(database: string): string {
  if (!isPostgres(database)) return database;
  const { protocol, username, host, pathname } = parseUrl(database) ?? new URL("postgres://");
  return `${protocol}//${username && `${username}@`}${host}${pathname}`;
}

/** A database as an operator reads it: the whole path of a file, or a URL without its password. */
export const describeDatabase = (database: string): string =>
  isPostgres(database) ? withoutPassword(database) : resolve(database);
