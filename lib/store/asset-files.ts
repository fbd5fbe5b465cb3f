import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { codeOf } from "./database-error.ts";
import { makeFolder } from "./sync-folder.ts";

/** Immutable binary files, each named by the id of its record, beside the database or in memory. */
export interface Assets {
  /** The file is complete and durable when this resolves. */
  store(name: string, bytes: Uint8Array): Promise<void>;
  find(name: string): Promise<Uint8Array | undefined>;
  /** The length in bytes; undefined for a missing file. */
  size(name: string): Promise<number | undefined>;
  /** The bytes from `start` to `end`, both inclusive; from 1 MiB on, a stream. Rejects if the file is missing. */
  read(name: string, start: number, end: number): Promise<Uint8Array | ReadableStream<Uint8Array>>;
  remove(name: string): Promise<void>;
  names(): Promise<string[]>;
  /** File contents by name. Snapshots share the buffers instead of copying them, because files never change. */
  readonly snapshotable: Snapshotable;
}

/** A hash of the content. It survives restarts and detects a modified file. */
export const etagOf = (bytes: Uint8Array): string =>
  `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`;

type Files = ReadonlyMap<string, Uint8Array>;

const filesOf = (saved: unknown): Files => {
  if (saved instanceof Map) return saved;
  throw new Error("the snapshot holds no asset files");
};

/** Shorter ranges are read into memory. */
const streamFrom_bytes = 1024 * 1024;

export function assetsInMemory(): Assets {
  let files = new Map<string, Uint8Array>();
  return {
    store: async (name, bytes) => void files.set(name, bytes),
    find: async (name) => files.get(name),
    size: async (name) => files.get(name)?.byteLength,
    async read(name, start, end) {
      const bytes = files.get(name);
      if (!bytes) throw new Error("there is no such file");
      return bytes.subarray(start, end + 1);
    },
    remove: async (name) => void files.delete(name),
    names: async () => [...files.keys()],
    snapshotable: {
      save: (): Files => new Map(files),
      load(saved) {
        files = new Map(filesOf(saved));
      },
    },
  };
}

const isMissing = (error: unknown) => codeOf(error) === "ENOENT";
function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
/** The suffix of an unfinished file. No id ends in it. */
const partial = ".half";
const assetName = /^[a-z]+_[0-9A-Z]{26}(\.half)?$/;
/** Whether this is the name of a complete asset. */
export const isAssetName = (name: string): boolean => assetName.test(name) && !name.endsWith(partial);

/** A file's name and bytes; empty if the file is missing. */
function entryOf(folder: string, name: string): [string, Uint8Array][] {
  try {
    return [[name, readFileSync(join(folder, name))]];
  } catch (error) {
    if (!isMissing(error)) throw error;
    return [];
  }
}

/** Writes to a temporary name, then renames. If the disk fills up, the partial file is removed. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const half = path + partial;
  try {
    await writeFile(half, bytes, { mode: 0o600, flush: true });
    await rename(half, path);
  } catch (error) {
    await rm(half, { force: true }).catch(() => {});
    throw error;
  }
}

/** Files in a folder, created on the first write. After a crash, each file is either complete or missing. */
export function assetsInFolder(folder: string): Assets {
  const pathOf = (name: string) => {
    // Safe to join: names are ids that the server made.
    if (!assetName.test(name)) throw new Error("not the name of an asset");
    return join(folder, name);
  };
  const syncFolder = async () => {
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close());
  };
  const names = (found: readonly string[]) => found.filter((name) => assetName.test(name));
  const namesNow = () => (existsSync(folder) ? names(readdirSync(folder)) : []);
  return {
    async store(name, bytes) {
      makeFolder(folder, 0o700);
      await writeWhole(pathOf(name), bytes);
      await syncFolder();
    },
    // Without a folder, reads nothing: file reads finish in no fixed order, which breaks deterministic runs.
    find: async (name) => (existsSync(folder) ? readFile(pathOf(name)).catch(undefinedIfMissing) : undefined),
    size: async (name) => (await stat(pathOf(name)).catch(undefinedIfMissing))?.size,
    async read(name, start, end) {
      const file = await open(pathOf(name), "r");
      // A Node stream in a response crashes the process when the client disconnects; a web stream does not.
      if (end - start >= streamFrom_bytes)
        return Readable.toWeb(file.createReadStream({ start, end })) as ReadableStream;
      try {
        const bytes = Buffer.alloc(end - start + 1);
        const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
        return bytes.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
    async remove(name) {
      if (existsSync(folder)) await rm(pathOf(name), { force: true });
    },
    names: async () => (existsSync(folder) ? names(await readdir(folder)) : []),
    snapshotable: {
      // Partial files are left out: they may disappear, and the restored job writes them again.
      save: (): Files =>
        new Map(
          namesNow()
            .filter(isAssetName)
            .flatMap((name) => entryOf(folder, name)),
        ),
      load(saved) {
        const files = filesOf(saved);
        if (files.size > 0) mkdirSync(folder, { recursive: true, mode: 0o700 });
        for (const name of namesNow()) if (!files.has(name)) rmSync(join(folder, name), { force: true });
        for (const [name, bytes] of files) writeFileSync(pathOf(name), bytes, { mode: 0o600 });
      },
    },
  };
}
