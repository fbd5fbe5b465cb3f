import { Problem } from "../kernel/errors.ts";

/** A database that this service refuses, with the reason and what would mend it. */
export class DatabaseError extends Error {
  constructor(path: string, reason: string, cause?: unknown) {
    super(`the database ${path} cannot be used: ${reason}`, { cause });
    this.name = "DatabaseError";
  }
}

/** The reason in words that tell what would mend it. */
export function describeError(error: unknown): string {
  const code = String((error as { code?: string }).code ?? "");
  if (/^SQLITE_(READONLY|CANTOPEN)|^E(ACCES|PERM|ROFS)$/.test(code)) {
    return "the file or its folder is read-only or cannot be opened; give this user the right to write there";
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return "it is damaged; restore it from a backup";
  if (code.startsWith("SQLITE_BUSY")) return "another program holds it; close that one first";
  if (code.startsWith("SQLITE_FULL") || code === "ENOSPC") return "the disk is full; make room first";
  // Making the memory that processes share is refused so where the disk is full.
  if (code.startsWith("SQLITE_IOERR")) return "the disk is full, or fails; make room, or look into the system's log";
  return (error as Error).message;
}

/** A store that could not be reached, in the words for who looks after its file: trying again would not mend it. */
export const asDatabaseError = (path: string, error: unknown): unknown =>
  error instanceof Problem && error.code === "unavailable" && error.cause
    ? new DatabaseError(path, describeError(error.cause), error)
    : error;
