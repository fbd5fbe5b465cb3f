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
  rmSync,
  symlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import { isPostgres } from "./database-url.ts";
import { openRaw } from "./sqlite/connection.ts";
import { withFile } from "./sync-folder.ts";

/** The folder for app data beside a database. */
export const dataFolderOf = (path: string) => `${path}-data`;

/** The folder for app data of a server: beside its database file, or in its apps folder if there is no file. */
export const dataFolderFor = (database: string, appsFolder: string) =>
  isPostgres(database) || database === ":memory:" ? join(appsFolder, "data") : dataFolderOf(database);

const magic = Buffer.from("SQLite format 3\0", "latin1");
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** A file name with one character for each byte, because apps choose names that are not UTF-8. */
type Name = string;
const bytewise = "latin1";
const shownAs = (path: Name) => Buffer.from(path, bytewise).toString();

/**
 * A path that apps cannot redirect, and that is short in deep folders. Apps may write to these folders during a copy,
 * and replace a file with a link.
 */
const pathOf = (fd: number, name: Name = "") => Buffer.from(`/proc/self/fd/${fd}${name && `/${name}`}`, bytewise);

/** The same as text, for SQLite. */
function textOf(path: Buffer): string {
  const text = path.toString();
  if (!Buffer.from(text).equals(path)) throw new Error("its name is not UTF-8, and SQLite opens no such file");
  return text;
}

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
async function copySqlite(path: Buffer, file: number, to: Buffer): Promise<void> {
  const database = openRaw(textOf(path));
  try {
    database.prepare("select count(*) from sqlite_schema").get();
    if (!hasOpened(file)) throw new Error("it was replaced meanwhile");
    await database.backup(textOf(to), { progress: () => 2 ** 31 - 1 });
  } finally {
    database.close();
  }
}

/** Copies a file, and keeps its holes: a sparse file of gigabytes may take no space on the disk. */
function copyPlain(file: number, target: Buffer): void {
  const { size, blocks } = fstatSync(file);
  if (blocks * 512 >= size) {
    copyFileSync(pathOf(file), target);
    return;
  }
  withFile(target, "w", (copy) => {
    const words = ["--sparse=always", "--", String(pathOf(3)), String(pathOf(4))];
    const { status, stderr, error } = spawnSync("cp", words, { stdio: ["ignore", "ignore", "pipe", file, copy] });
    if (status !== 0) throw error ?? new Error(String(stderr).trim());
  });
}

/** The longest path within the data: deeper folders could not be removed again by their path. */
const maxPath = 3_000;
const shortened = (path: string) => (path.length > 300 ? `${path.slice(0, 100)} … ${path.slice(-150)}` : path);

/**
 * Copies app data while apps are running. Each SQLite database is a consistent snapshot; other files may be half
 * written. Returns a sentence for each file that could not be copied.
 */
export async function copyData(from: string, to: string): Promise<string[]> {
  if (!existsSync(from)) return [];
  const warnings: string[] = [];
  const lost = (path: Name, error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const remedy = code === "EACCES" ? "; run the command as root" : "";
    const shown = shortened(shownAs(path));
    if (code !== "ENOENT") warnings.push(`${shown} of the apps' data could not be copied: ${message}${remedy}`);
  };
  const copyFile = async (path: Buffer, target: Buffer): Promise<void> => {
    const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) return;
      if (isSqlite(file)) await copySqlite(path, file, target);
      else copyPlain(file, target);
      withFile(target, "r", (copy) => fchmodSync(copy, fstatSync(file).mode & 0o777));
    } catch (error) {
      rmSync(target, { force: true });
      throw error;
    } finally {
      closeSync(file);
    }
  };
  const isDatabase = (path: Buffer): boolean =>
    lstatSync(path).isFile() && withFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, isSqlite);
  const copyFolder = async (path: Buffer, target: Buffer, shown: Name): Promise<void> => {
    const folder = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    let copy: number | undefined;
    try {
      mkdirSync(target, { recursive: true, mode: 0o700 });
      copy = openSync(target, O_RDONLY | O_DIRECTORY);
      const names = readdirSync(pathOf(folder), bytewise);
      for (const name of names) {
        const [base, end] = [name.replace(/-(wal|shm|journal)$/, ""), `${shown}/${name}`];
        const [one, to] = [pathOf(folder, name), pathOf(copy, name)];
        try {
          if (end.length > maxPath) throw new Error("it lies too deep in folders");
          const its = lstatSync(one);
          // Skip the journal files of a database: its copy is complete without them.
          if (base !== name && its.isFile() && names.includes(base) && isDatabase(pathOf(folder, base))) continue;
          if (its.isDirectory()) await copyFolder(one, to, end);
          else if (its.isSymbolicLink()) symlinkSync(readlinkSync(one, "buffer"), to);
          else if (its.isFile()) await copyFile(one, to);
        } catch (error) {
          lost(end, error);
        }
      }
    } finally {
      closeSync(folder);
      if (copy !== undefined) closeSync(copy);
    }
  };
  const root: Name = Buffer.from(basename(from)).toString(bytewise);
  await copyFolder(Buffer.from(from), Buffer.from(to), root).catch((error) => lost(root, error));
  return warnings;
}
