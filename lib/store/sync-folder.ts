import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Opens a file for some work, and closes it. */
export function withFile<T>(path: string | Buffer, flags: string | number, work: (fd: number) => T): T {
  const fd = openSync(path, flags);
  try {
    return work(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes a file's contents, or the names in a folder, durable. */
export const sync = (path: string | Buffer, flags: string): void => withFile(path, flags, fsyncSync);

/** Makes the names in a folder durable. Without this, a power cut may lose a new file, even one that was synced. */
export function syncFolder(path: string | Buffer): void {
  // Windows cannot sync a folder.
  if (process.platform !== "win32") sync(path, "r");
}

/** Creates a folder and its missing parents, and makes their names durable. */
export function makeFolder(path: string, mode?: number): void {
  const first = mkdirSync(resolve(path), { recursive: true, ...(mode !== undefined && { mode }) });
  if (first === undefined) return;
  for (let made = resolve(path); made.length >= first.length; made = dirname(made)) syncFolder(dirname(made));
}
