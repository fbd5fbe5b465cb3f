import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Snapshotable } from "../kernel/snapshotable.ts";

/**
 * Files by the identifier of the record that they belong to: beside the database, or in memory. What was stored under a
 * name never changes.
 */
export interface Assets {
  /** The file is whole and durable when this resolves. */
  store(name: string, bytes: Uint8Array): Promise<void>;
  find(name: string): Promise<Uint8Array | undefined>;
  /** How many bytes there are; undefined where there is no such file. */
  size(name: string): Promise<number | undefined>;
  /** The bytes from `start` to `end`, both included: as a stream where they are many. Rejects where there is no such file. */
  read(name: string, start: number, end: number): Promise<Uint8Array | ReadableStream<Uint8Array>>;
  remove(name: string): Promise<void>;
  names(): Promise<string[]>;
  /** Names and bytes: of a file in memory no copy is made, since nobody changes it. */
  readonly snapshotable: Snapshotable;
}

/** A file's hash, so that it holds over restarts, and tells a file that was changed. */
export const etagOf = (bytes: Uint8Array): string =>
  `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`;

type Files = ReadonlyMap<string, Uint8Array>;

const filesOf = (kept: unknown): Files => {
  if (kept instanceof Map) return kept;
  throw new Error("these are no files that a service has saved");
};

/** As much is read at once; it costs less than a stream. */
const atOnce = 1024 * 1024;

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
      load(kept) {
        files = new Map(filesOf(kept));
      },
    },
  };
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === "ENOENT";
function none(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
/** What a kill left behind in the middle of writing ends so; no identifier does. */
const half = ".half";
const own = /^[a-z]+_[0-9A-Z]{26}(\.half)?$/;

/** Files in a folder, which is made with the first of them. A kill leaves a whole file or none. */
export function assetsInFolder(folder: string): Assets {
  const pathOf = (name: string) => {
    // Names are our own identifiers, and a path must not be made of anything else.
    if (!own.test(name)) throw new Error("this is no name of a file");
    return join(folder, name);
  };
  const syncFolder = async () => {
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close());
  };
  const names = async () => {
    const all = await readdir(folder).catch((error): string[] => {
      if (isMissing(error)) return [];
      throw error;
    });
    return all.filter((name) => own.test(name));
  };
  const namesNow = () => (existsSync(folder) ? readdirSync(folder).filter((name) => own.test(name)) : []);
  return {
    async store(name, bytes) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = await open(pathOf(name + half), "w", 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(pathOf(name + half), pathOf(name));
      await syncFolder();
    },
    find: (name) => readFile(pathOf(name)).catch(none),
    size: async (name) => (await stat(pathOf(name)).catch(none))?.size,
    async read(name, start, end) {
      const file = await open(pathOf(name), "r");
      // A bare read stream in an answer takes the process down when its reader hangs up; this form does not.
      if (end - start >= atOnce) return Readable.toWeb(file.createReadStream({ start, end })) as ReadableStream;
      try {
        const bytes = Buffer.alloc(end - start + 1);
        const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
        return bytes.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
    remove: (name) => rm(pathOf(name), { force: true }),
    names,
    snapshotable: {
      save: (): Files => new Map(namesNow().map((name) => [name, readFileSync(join(folder, name))])),
      load(kept) {
        const files = filesOf(kept);
        if (files.size > 0) mkdirSync(folder, { recursive: true, mode: 0o700 });
        for (const name of namesNow()) if (!files.has(name)) rmSync(join(folder, name), { force: true });
        for (const [name, bytes] of files) writeFileSync(pathOf(name), bytes, { mode: 0o600 });
      },
    },
  };
}
