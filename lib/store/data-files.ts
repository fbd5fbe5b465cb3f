import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  symlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import { isPostgres } from "./database-url.ts";
import { openRaw } from "./sqlite.ts";

/** The folder for app data beside a database. */
export const dataFolderOf = (path: string) => `${path}-data`;

/**
 * The folder for app data of a server: beside its database file, or in its apps folder if there is no database file.
 */
export const dataFolderFor = (database: string, appsFolder: string) =>
  isPostgres(database) || database === ":memory:" ? join(appsFolder, "data") : dataFolderOf(database);

const magic = Buffer.from("SQLite format 3\0", "latin1");
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** A path that apps cannot redirect. Apps may write to these folders during a copy, and replace a file with a link. */
const nameOf = (fd: number, name = "") => `/proc/self/fd/${fd}${name && `/${name}`}`;

function isSqlite(fd: number): boolean {
  const head = Buffer.alloc(magic.length);
  return readSync(fd, head, 0, head.length, 0) === head.length && head.equals(magic);
}

/** Whether SQLite opened this same file, and not another that an app put in its place. */
function hasOpened(fd: number): boolean {
  const { dev, ino } = fstatSync(fd);
  const same = readdirSync("/proc/self/fd").filter((one) => {
    try {
      const found = fstatSync(Number(one));
      return found.dev === dev && found.ino === ino;
    } catch {
      return false;
    }
  });
  return same.length > 1;
}

/** Makes a consistent copy with SQLite's backup API: all pages in one step, under a read lock. */
async function copySqlite(folder: number, name: string, file: number, to: string): Promise<void> {
  const database = openRaw(nameOf(folder, name));
  try {
    database.prepare("select count(*) from sqlite_schema").get();
    if (!hasOpened(file)) throw new Error("it was replaced meanwhile");
    await database.backup(to, { progress: () => 2 ** 31 - 1 });
  } finally {
    database.close();
  }
}

/** Copies a file, with its holes: an app makes a file of gigabytes that takes no space on the disk. */
function copyPlain(file: number, target: string): void {
  const { size, blocks } = fstatSync(file);
  if (blocks * 512 >= size) {
    copyFileSync(nameOf(file), target);
    return;
  }
  const words = ["--sparse=always", "--", nameOf(3), target];
  const { status, stderr, error } = spawnSync("cp", words, { stdio: ["ignore", "ignore", "pipe", file] });
  if (status !== 0) throw error ?? new Error(String(stderr).trim());
}

/**
 * Copies app data while apps are running. Each SQLite database is a consistent snapshot; other files are copied as they
 * are. Returns a sentence for each file that could not be copied.
 */
export async function copyData(from: string, to: string): Promise<string[]> {
  if (!existsSync(from)) return [];
  const warnings: string[] = [];
  const lost = (path: string, error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const remedy = code === "EACCES" ? "; run the command as root" : "";
    if (code !== "ENOENT") warnings.push(`${path} of the apps' data could not be copied: ${message}${remedy}`);
  };
  const copyFile = async (folder: number, name: string, target: string): Promise<void> => {
    const file = openSync(nameOf(folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) return;
      if (isSqlite(file)) await copySqlite(folder, name, file, target);
      else copyPlain(file, target);
      const copy = openSync(target, "r+");
      fchmodSync(copy, fstatSync(file).mode & 0o777);
      closeSync(copy);
    } finally {
      closeSync(file);
    }
  };
  const isDatabase = (folder: number, name: string): boolean => {
    if (!lstatSync(nameOf(folder, name)).isFile()) return false;
    const file = openSync(nameOf(folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      return isSqlite(file);
    } finally {
      closeSync(file);
    }
  };
  const copyFolder = async (path: string, target: string, shown: string): Promise<void> => {
    const folder = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      mkdirSync(target, { recursive: true, mode: 0o700 });
      const names = readdirSync(nameOf(folder));
      for (const name of names) {
        const [base, end] = [name.replace(/-(wal|shm|journal)$/, ""), join(shown, name)];
        try {
          const its = lstatSync(nameOf(folder, name));
          // Skip the journal files of a database: its copy is complete without them.
          if (base !== name && its.isFile() && names.includes(base) && isDatabase(folder, base)) continue;
          if (its.isDirectory()) await copyFolder(nameOf(folder, name), join(target, name), end);
          else if (its.isSymbolicLink()) symlinkSync(readlinkSync(nameOf(folder, name)), join(target, name));
          else if (its.isFile()) await copyFile(folder, name, join(target, name));
        } catch (error) {
          lost(end, error);
        }
      }
    } finally {
      closeSync(folder);
    }
  };
  await copyFolder(from, to, basename(from)).catch((error) => lost(basename(from), error));
  return warnings;
}
