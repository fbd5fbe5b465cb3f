import { lstat, opendir, statfs } from "node:fs/promises";
import { join } from "node:path";
import { byteSizeText } from "../../kernel/text/byte-size.ts";

/** The disk space of a folder in bytes, without following links. Stops counting beyond `limit`. */
export async function folderBytes(folder: string, limit = Number.POSITIVE_INFINITY): Promise<number> {
  let bytes = 0;
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined && bytes <= limit; next = waiting.pop()) {
    try {
      for await (const entry of await opendir(next)) {
        const path = join(next, entry.name);
        // Even an empty file takes an inode.
        const { blocks = 0 } = entry.isDirectory() ? {} : ((await lstat(path).catch(() => undefined)) ?? {});
        bytes += entry.isDirectory() ? 4096 : 512 * blocks + 256;
        if (entry.isDirectory()) waiting.push(path);
        if (bytes > limit) break;
      }
    } catch {
      // The folder has been removed, or its owner made it unreadable.
    }
  }
  return bytes;
}

/** Counts the bytes written to folders that had `before_bytes` in total. Stops counting at the limit. */
export const writtenTo = (folders: readonly string[], before_bytes: number) => async (limit: number) => {
  let bytes = -before_bytes;
  for (const folder of folders) bytes += await folderBytes(folder, limit - bytes);
  return bytes;
};

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** The free disk space that builds and pushes need to start. The database needs space too. */
const minFree_bytes = 1024 ** 3;

/** Why something cannot start on the disk of a folder; undefined if it can. */
export async function lackOfDisk(folder: string, what: "a build" | "a push"): Promise<string | undefined> {
  const free = await freeBytes(folder);
  if (free >= minFree_bytes) return undefined;
  return `only ${byteSizeText(free)} of disk is free, and ${what} needs ${byteSizeText(minFree_bytes)}`;
}
