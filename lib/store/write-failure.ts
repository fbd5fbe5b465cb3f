import { accessSync, closeSync, constants, openSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Problem } from "../kernel/errors.ts";

/** Why a store cannot be written, and the remedy for the operator. */
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

/** The events of a store that its operator must know about. */
export interface Watcher {
  /** Called with an obstacle when writes stop, and without one when they resume. */
  writes(obstacle: Obstacle | undefined, error?: unknown): void;
  /** Called when a long reader has made the write-ahead log large, and when it is small again. */
  log(bytes: number, isLarge: boolean): void;
}

export const reasonOfObstacle = (obstacle: Obstacle): string => obstacles[obstacle].reason;

/** The reason and the remedy, in one clause. */
export const describeObstacle = (obstacle: Obstacle): string =>
  `${obstacles[obstacle].reason}; ${obstacles[obstacle].remedy}`;

/** The obstacle behind an error on a file beside the database. */
export function obstacleOfFile(error: unknown): Obstacle | undefined {
  const code = codeOf(error);
  if (/^E(NOSPC|DQUOT)$/.test(code)) return "disk_full";
  if (/^E(MFILE|NFILE)$/.test(code)) return "too_many_files";
  if (/^E(ROFS|ACCES|PERM)$/.test(code)) return "read_only";
  return code === "EIO" ? "io_error" : undefined;
}

/** A 503. Not logged per request, because the store logs the error once. */
export const stopped = (obstacle: Obstacle, cause?: unknown): Problem =>
  new Problem(
    "unavailable",
    `the store cannot be written: ${obstacles[obstacle].reason}; ask the operator to ${obstacles[obstacle].remedy}`,
    { headers: { "retry-after": "5" }, cause, isLogged: true },
  );

/** A code of SQLite, which SQLite itself never uses with a write-ahead log. */
const movedCode = "SQLITE_READONLY_DBMOVED";

/**
 * Returns a check that throws if the path now leads to another file or to none. SQLite would go on writing to the
 * unnamed file, and its data would be lost when the process ends.
 */
export function refuseMoved(path: string): () => void {
  // Compare only the inode, as SQLite does: a network file system may change the device of an open file.
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

/** The free bytes on the disk of the file. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}

/**
 * The obstacle behind an error of SQLite or of the system; undefined for other errors. SQLite reports most of them as
 * I/O errors, so this examines the file system. Never opens the file itself: closing it would drop SQLite's locks.
 */
export function obstacleOf(error: unknown, path: string): Obstacle | undefined {
  const code = codeOf(error);
  if (code === movedCode) return "moved";
  if (/^SQLITE_FULL|^ENOSPC$/.test(code)) return "disk_full";
  if (!/^SQLITE_(IOERR|READONLY|CANTOPEN)|^E(MFILE|NFILE|ROFS|ACCES|PERM|IO)$/.test(code)) return undefined;
  const system = systemError(path);
  if (/^E(MFILE|NFILE)$/.test(system)) return "too_many_files";
  if (/^E(ROFS|ACCES|PERM)$/.test(system) || /^SQLITE_READONLY|^E(ROFS|ACCES|PERM)$/.test(code)) return "read_only";
  // On a full disk SQLite cannot create the shared memory of the log, and reports an I/O error.
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
