import { closeSync, fsyncSync, lstatSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseError, describeError } from "./database-error.ts";
import { lockDatabase } from "./database-lock.ts";

/** A database and all that belongs to it. The WAL of one database must never be applied to another. */
const suffixes = ["", "-wal", "-shm", ".key", ".sha256", "-files"];

/** While this folder exists, the old files count, wherever a process was killed. */
export const stagingOf = (path: string) => `${path}.staged`;
/**
 * The staging folder after the commit, which is its renaming. While it exists, the new files count. In it lie `new`
 * until the old files are in `old`, and then `ready` until the new ones are in place.
 */
export const switchOf = (path: string) => `${path}.switching`;

/**
 * Replaces a database, its key file and its other files by the ones that `stage` writes under the path it is given. The
 * caller holds the lock of the database. Everything is synced before the commit, and where `stage` throws, the old files
 * are untouched. After a kill, `settleSwitch` ends what was begun.
 */
export async function switchFiles<T>(path: string, stage: (staged: string) => Promise<T>): Promise<T> {
  rmSync(stagingOf(path), { recursive: true, force: true });
  if (isThere(switchOf(path))) finish(path);
  const staging = join(stagingOf(path), "new");
  try {
    mkdirSync(staging, { recursive: true, mode: 0o700 });
    const result = await stage(join(staging, "database"));
    syncTree(stagingOf(path));
    renameSync(stagingOf(path), switchOf(path));
    syncFolder(dirname(path));
    finish(path);
    return result;
  } finally {
    rmSync(stagingOf(path), { recursive: true, force: true });
  }
}

/**
 * Ends a switch that was interrupted, and returns a sentence that says which files count: all old ones or all new ones.
 * Throws a DatabaseError while another process is at it.
 */
export function settleSwitch(path: string): string | undefined {
  if (![stagingOf(path), switchOf(path)].some(isThere)) return undefined;
  const unlock = lockDatabase(path);
  try {
    if (isThere(switchOf(path))) {
      finish(path);
      return "a restore was interrupted after it took effect; it is finished now, and the database is the restored one";
    }
    if (!isThere(stagingOf(path))) return undefined;
    if (!isThere(path))
      throw new Error(
        `a restore was interrupted before it took effect, and there was no database before; restore it again, or remove ${stagingOf(path)} to begin anew`,
      );
    rmSync(stagingOf(path), { recursive: true });
    return "a restore was interrupted before it took effect; the database is as it was before";
  } catch (error) {
    throw DatabaseError.from(path, error);
  } finally {
    unlock();
  }
}

/** Puts the new files in place. Every step can be repeated, so that the next process goes on after a kill. */
function finish(path: string): void {
  const [fresh, ready, old] = ["new", "ready", "old"].map((name) => join(switchOf(path), name)) as [
    string,
    string,
    string,
  ];
  if (isThere(fresh)) {
    putAside(path, old);
    renameSync(fresh, ready);
    syncFolder(switchOf(path));
  }
  if (isThere(ready)) {
    for (const name of readdirSync(ready)) renameSync(join(ready, name), path + name.slice("database".length));
    syncFolder(ready);
    syncFolder(dirname(path));
  }
  rmSync(switchOf(path), { recursive: true });
  syncFolder(dirname(path));
}

/** Moves the old files to a folder. A file that cannot be moved takes the commit back: the old files count again. */
function putAside(path: string, folder: string): void {
  const moves = suffixes.map((suffix) => [path + suffix, join(folder, `database${suffix}`)] as const);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const [from, to] of moves) if (isThere(from)) renameSync(from, to);
    syncFolder(folder);
    syncFolder(dirname(path));
  } catch (error) {
    for (const [from, to] of moves) if (isThere(to)) renameSync(to, from);
    renameSync(switchOf(path), stagingOf(path));
    rmSync(stagingOf(path), { recursive: true });
    throw new Error(
      `its old files could not be moved aside, and stay (${(error as Error).message}); ${describeError(error)}`,
    );
  }
}

/** Unlike `existsSync`, true for a link that leads nowhere. */
const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function syncTree(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) syncTree(join(path, entry.name));
    else sync(join(path, entry.name), "r+");
  }
  syncFolder(path);
}

/** Makes the names in a folder durable. Windows has no such call. */
function syncFolder(path: string): void {
  if (process.platform !== "win32") sync(path, "r");
}

function sync(path: string, flags: string): void {
  const fd = openSync(path, flags);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
