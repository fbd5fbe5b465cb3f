import { accessSync, closeSync, constants, openSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Problem } from "../kernel/errors.ts";

/** The reasons why a store cannot be written, and what its operator has to do. */
const obstacles = {
  disk_full: { reason: "the disk is full", remedy: "free space" },
  read_only: { reason: "the file or its folder is read-only", remedy: "let the service write there" },
  io_error: { reason: "the disk fails with I/O errors", remedy: "look into the system's log" },
  moved: { reason: "the database was removed or replaced", remedy: "put the file back, or restore a backup" },
  too_many_files: { reason: "too many files are open", remedy: "raise the limit of open files" },
  database_read_only: { reason: "the database is read-only", remedy: "make it writable" },
  unreachable: { reason: "the database cannot be reached", remedy: "start its server" },
  damaged: { reason: "the database is damaged", remedy: "restore it from a backup" },
} as const;

export type Obstacle = keyof typeof obstacles;

export const reasonOfObstacle = (obstacle: Obstacle): string => obstacles[obstacle].reason;

/** The reason and the remedy, in one clause. */
export const describeObstacle = (obstacle: Obstacle): string =>
  `${obstacles[obstacle].reason}; ${obstacles[obstacle].remedy}`;

/** The meaning of an error of a file beside the database. */
export function obstacleOfFile(error: unknown): Obstacle | undefined {
  const code = codeOf(error);
  if (/^E(NOSPC|DQUOT)$/.test(code)) return "disk_full";
  if (/^E(MFILE|NFILE)$/.test(code)) return "too_many_files";
  if (/^E(ROFS|ACCES|PERM)$/.test(code)) return "read_only";
  return code === "EIO" ? "io_error" : undefined;
}

/** 503. The store's log has the error already, once for all requests. */
export const stopped = (obstacle: Obstacle, cause?: unknown): Problem =>
  new Problem(
    "unavailable",
    `the store cannot be written: ${obstacles[obstacle].reason}; ask the operator to ${obstacles[obstacle].remedy}`,
    {
      headers: { "retry-after": "5" },
      cause,
      isLogged: true,
    },
  );

/** SQLite's own code, which it uses only without a write-ahead log. */
const movedCode = "SQLITE_READONLY_DBMOVED";

/**
 * Throws if the path of an open database leads to another file, or to none. SQLite would continue to write to the
 * unnamed file, and the data would be lost with the process.
 */
export function refuseMoved(path: string): () => void {
  // SQLite compares only this, too: a network file system may change the device under an open file.
  const { ino } = statSync(path);
  return () => {
    if (statSync(path, { throwIfNoEntry: false })?.ino !== ino)
      throw Object.assign(new Error(`${path} is another file now, or gone`), { code: movedCode });
  };
}

interface Coded {
  readonly code?: unknown;
  readonly cause?: unknown;
}
const codeOf = (error: unknown): string => {
  const { code, cause } = (error ?? {}) as Coded;
  return String(code ?? (cause as Coded | undefined)?.code ?? "");
};

/** The free bytes of the disk that holds the file. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}

/**
 * The meaning of an error of SQLite or of the system for the file; undefined for any other error. SQLite reports most
 * of them as I/O errors, so the system is asked. Never opens the file itself: closing it would drop SQLite's locks.
 */
export function obstacleOf(error: unknown, path: string): Obstacle | undefined {
  const code = codeOf(error);
  if (code === movedCode) return "moved";
  if (/^SQLITE_FULL|^ENOSPC$/.test(code)) return "disk_full";
  if (!/^SQLITE_(IOERR|READONLY|CANTOPEN)|^E(MFILE|NFILE|ROFS|ACCES|PERM|IO)$/.test(code)) return undefined;
  const system = systemError(path);
  if (/^E(MFILE|NFILE)$/.test(system)) return "too_many_files";
  if (/^E(ROFS|ACCES|PERM)$/.test(system) || /^SQLITE_READONLY|^E(ROFS|ACCES|PERM)$/.test(code)) return "read_only";
  // On a full disk SQLite cannot make the shared memory of the log, and says that this is an I/O error.
  return system === "ENOSPC" ? "disk_full" : "io_error";
}

function systemError(path: string): string {
  try {
    closeSync(openSync(dirname(path), "r"));
    accessSync(path, constants.W_OK);
    return freeBytes(path) === 0 ? "ENOSPC" : "";
  } catch (error) {
    return codeOf(error);
  }
}
