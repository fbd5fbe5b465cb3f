import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { isAssetName } from "./asset-files.ts";
import { part_bytes } from "./asset-rows.ts";
import type { Ask } from "./copy-tables.ts";
import { makeFolder, syncFolder } from "./sync-folder.ts";

/** Files of generations, in a folder or in a database. */
export interface Files {
  /** All complete files, in the order of their names. */
  names(): Promise<readonly string[]>;
  /** The bytes of a file, in pieces of a megabyte at most. */
  pieces(name: string): AsyncIterable<Buffer>;
}

export interface TargetFiles extends Files {
  /** Replaces a file. It is whole and durable when this resolves, and nothing of it is seen before. */
  write(name: string, pieces: AsyncIterable<Buffer>): Promise<void>;
  remove(name: string): Promise<void>;
}

export function filesInFolder(folder: string): TargetFiles {
  const pathOf = (name: string) => join(folder, name);
  return {
    names: async () => (existsSync(folder) ? readdirSync(folder).filter(isAssetName).sort() : []),
    pieces: (name) => createReadStream(pathOf(name), { highWaterMark: part_bytes }),
    async write(name, pieces) {
      makeFolder(folder, 0o700);
      // The name of a file that is being written.
      const half = `${pathOf(name)}.half`;
      const file = await open(half, "w", 0o600);
      try {
        for await (const piece of pieces) await file.appendFile(piece);
        await file.sync();
      } finally {
        await file.close();
      }
      renameSync(half, pathOf(name));
      syncFolder(folder);
    },
    remove: async (name) => rmSync(pathOf(name), { force: true }),
  };
}

/** Pieces as the parts of a file in the database: each is full but for the last one, and an empty file has one. */
async function* partsOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const piece of pieces) {
    rest = Buffer.concat([rest, piece]);
    while (rest.length > part_bytes) {
      yield rest.subarray(0, part_bytes);
      rest = rest.subarray(part_bytes);
    }
  }
  yield rest;
}

/** The files that `assetsInDatabase` stores. */
export function filesInDatabase(ask: Ask): Files {
  return {
    async names() {
      const rows = await ask("select name from asset_parts where part = 0 order by name");
      return rows.map(({ name }) => String(name));
    },
    async *pieces(name) {
      const text = "select content from asset_parts where name = $1 and part = $2";
      for (let part = 0; ; part++) {
        const [row] = await ask(text, [name, part]);
        if (!row) return;
        yield Buffer.from(String(row["content"]), "base64");
      }
    },
  };
}

export function targetFilesInDatabase(
  ask: Ask,
  transaction: (work: () => Promise<void>) => Promise<void>,
): TargetFiles {
  const remove = async (name: string) => void (await ask("delete from asset_parts where name = $1", [name]));
  return {
    ...filesInDatabase(ask),
    write: (name, pieces) =>
      transaction(async () => {
        await remove(name);
        let part = 0;
        for await (const bytes of partsOf(pieces)) {
          const values = [name, part++, bytes.length, bytes.toString("base64")];
          await ask("insert into asset_parts (name, part, bytes, content) values ($1, $2, $3, $4)", values);
        }
      }),
    remove,
  };
}

/** SHA-256 of a file, in base64url: its etag begins with the same characters. */
export async function digestOf(files: Files, name: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of files.pieces(name)) hash.update(piece);
  return hash.digest("base64url");
}
