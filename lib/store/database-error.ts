import { Problem } from "../kernel/errors.ts";

/** The code of an error of SQLite, PostgreSQL or the system; empty without one. */
export const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? "");

/** Why this service refuses a database, and how to fix it. */
export class DatabaseError extends Error {
  constructor(path: string, reason: string, cause?: unknown) {
    super(`the database ${path} cannot be used: ${reason}`, { cause });
    this.name = "DatabaseError";
  }

  static from(path: string, error: unknown, remedy?: string): DatabaseError {
    return error instanceof DatabaseError ? error : new DatabaseError(path, describeError(error, remedy), error);
  }
}

/** Damage, described without a remedy: the remedy differs between a database and a backup. */
export class Damage extends Error {}

/** The reason and the remedy in one sentence. `remedy` is for a damaged file or a folder. */
export function describeError(error: unknown, remedy = "restore it from a backup"): string {
  const code = codeOf(error);
  const { message } = error as Error;
  if (error instanceof Damage) return `${message}; ${remedy}`;
  if (/^SQLITE_(READONLY|CANTOPEN)|^E(ACCES|PERM|ROFS)$/.test(code)) {
    return "the file or its folder is read-only or cannot be opened; give this user the right to write there";
  }
  if (isDamage(error)) return `it is damaged; ${remedy}`;
  if (code === "EISDIR") return `it is a folder; ${remedy}`;
  if (code.startsWith("SQLITE_BUSY")) return "another program has it open; close that program first";
  if (code.startsWith("SQLITE_FULL") || code === "ENOSPC") return "the disk is full; free some space first";
  // On a full disk SQLite fails with an I/O error, because it cannot create the shared memory of the WAL.
  if (code.startsWith("SQLITE_IOERR")) return "the disk is full or failing; free some space, or read the system's log";
  return message;
}

export const isDamage = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));

/** Turns the 503 of an unreachable store into a DatabaseError: a retry would not help, so the operator has to act. */
export const asDatabaseError = (path: string, error: unknown): unknown =>
  error instanceof Problem && error.code === "unavailable" && error.cause
    ? new DatabaseError(path, describeError(error.cause), error)
    : error;
