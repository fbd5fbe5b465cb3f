import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Makes the contents of a file durable, or the names in a folder. */
export function sync(path: string, flags: string): void {
  const fd = openSync(path, flags);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Makes the names in a folder durable. Without this, a power cut may remove a new file, even if the file itself was
 * synced.
 */
export function syncFolder(path: string): void {
  // Windows has no such call.
  if (process.platform !== "win32") sync(path, "r");
}

/** Makes a folder and those around it, and makes their names durable. */
export function makeFolder(path: string, mode?: number): void {
  const first = mkdirSync(resolve(path), { recursive: true, ...(mode !== undefined && { mode }) });
  if (first === undefined) return;
  for (let made = resolve(path); made.length >= first.length; made = dirname(made)) syncFolder(dirname(made));
}
