import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf, DatabaseError, describeError } from "../database-error.ts";
import { sync, syncFolder } from "../sync-folder.ts";
import { lockDatabase } from "./database-lock.ts";

/** The suffixes of a database's files, which are switched together: a WAL belongs to one database only. */
const suffixes = ["", "-wal", "-shm", ".key", ".sha256", "-files", "-repositories", "-data"];

/** The staging folder. While it exists, the old files are current, even after a kill. */
export const stagingOf = (path: string) => `${path}.staged`;
/**
 * To commit, the staging folder is renamed to this. While it exists, the new files are current. It holds them as `new`
 * until the old files are moved to `old`, then as `ready` until they are in place.
 */
export const switchOf = (path: string) => `${path}.switching`;

/**
 * Replaces a database, its key file and its other files with the files that `stage` writes. The caller holds the
 * database lock. All files are synced before the commit. If `stage` throws, the old files are unchanged. After a kill,
 * `settleSwitch` finishes or undoes the switch.
 */
export async function switchFiles<T>(path: string, stage: (staged: string) => Promise<T>): Promise<T> {
  removeTree(stagingOf(path));
  if (isThere(switchOf(path))) finish(path);
  const staging = join(stagingOf(path), "new");
  try {
    mkdirSync(staging, { recursive: true, mode: 0o700 });
    const result = await stage(join(staging, "database"));
    syncTree(Buffer.from(stagingOf(path)));
    renameSync(stagingOf(path), switchOf(path));
    syncFolder(dirname(path));
    finish(path);
    return result;
  } finally {
    removeTree(stagingOf(path));
  }
}

/**
 * Finishes or undoes an interrupted switch. Returns a sentence for the operator, which says whether the files are now
 * the old ones or the new ones. Throws a DatabaseError while another process is switching.
 */
export function settleSwitch(path: string): string | undefined {
  if (![stagingOf(path), switchOf(path)].some(isThere)) return undefined;
  const unlock = lockDatabase(path);
  try {
    if (isThere(switchOf(path))) {
      finish(path);
      return "a restore or a copy was interrupted after it took effect; it is finished now, and the database is the new one";
    }
    if (!isThere(stagingOf(path))) return undefined;
    if (!isThere(path))
      throw new Error(
        `a restore or a copy was interrupted before it took effect, and there was no database before; run it again, or remove ${stagingOf(path)} to start with a new database`,
      );
    removeTree(stagingOf(path));
    return "a restore was interrupted before it took effect; the database is as it was before";
  } catch (error) {
    throw DatabaseError.from(path, error);
  } finally {
    unlock();
  }
}

/** Moves the new files into place. Each step is idempotent, so the next process can resume after a kill. */
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
  removeTree(switchOf(path));
  syncFolder(dirname(path));
}

/** Moves the old files to a folder. If a move fails, the commit is undone and the old files are current again. */
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
    removeTree(stagingOf(path));
    throw new Error(
      `its old files could not be moved aside, and stay (${(error as Error).message}); ${describeError(error)}`,
    );
  }
}

/** Unlike `existsSync`, true for a broken link. */
const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Removes a folder with all in it. Apps may nest folders beyond the longest path, and only `rm` can remove those. */
function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (codeOf(error) !== "ENAMETOOLONG") throw error;
    execFileSync("rm", ["-rf", "--", path], { stdio: "ignore" });
  }
}

/** Syncs a folder and all in it. The names are bytes, because apps choose names that are not UTF-8. */
function syncTree(path: Buffer): void {
  for (const entry of readdirSync(path, { encoding: "buffer", withFileTypes: true })) {
    const one = Buffer.concat([path, Buffer.from("/"), entry.name]);
    if (entry.isDirectory()) syncTree(one);
    // Windows syncs only files that are open for writing. Elsewhere, the owner may be allowed only to read.
    else if (entry.isFile()) sync(one, process.platform === "win32" ? "r+" : "r");
  }
  syncFolder(path);
}
