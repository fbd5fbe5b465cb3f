import assert from "node:assert/strict";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import type { Database } from "better-sqlite3";
import { etagOf } from "../../lib/store/asset-files.ts";
import type { Row } from "../../lib/store/tables.ts";

const turn = () => new Promise((next) => setImmediate(next));

/** Each disk operation takes a turn of the event loop, in which a kill may come. */
async function step<T>(work: () => T): Promise<T> {
  await turn();
  return work();
}

/** An open file, written in two halves. */
const handleOf = (file: number) => ({
  async writeFile(bytes: Uint8Array) {
    const half = bytes.length >> 1;
    for (const part of [bytes.subarray(0, half), bytes.subarray(half)])
      await step(() => {
        for (let at = 0; at < part.length; ) at += writeSync(file, part, at);
      });
  },
  sync: () => step(() => fsyncSync(file)),
  close: () => step(() => closeSync(file)),
});

const inTurns = {
  open: (path: string, flags: string, mode?: number) => step(() => handleOf(openSync(path, flags, mode))),
  readFile: (path: string) => step(() => readFileSync(path)),
  readdir: (path: string) => step(() => readdirSync(path)),
  rename: (from: string, to: string) => step(() => renameSync(from, to)),
  rm: (path: string, options: object) => step(() => rmSync(path, options)),
  stat: (path: string) => step(() => statSync(path)),
};

/**
 * Node reads and writes files on threads, which finish in no fixed order. In a simulation each step takes a turn of the
 * event loop instead. Returns a function that restores Node's own.
 */
export function replaceFiles(): () => void {
  const before = Object.fromEntries(Object.keys(inTurns).map((name) => [name, Reflect.get(promises, name)]));
  const use = (all: object) => {
    Object.assign(promises, all);
    syncBuiltinESMExports();
  };
  use(inTurns);
  return () => use(before);
}

/** The files of the generations of a database. */
export function picturesOf(database: string): string[] {
  const folder = `${database}-files`;
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

/**
 * Each completed generation has its file, byte for byte. Other files belong to unfinished work; at the end there are
 * none.
 */
export function checkPictures(database: Database, isEnd: boolean): void {
  const rows = database.prepare("select id, status, etag from generations").all() as Row<"generations">[];
  const paths = new Map(picturesOf(database.name).map((path) => [basename(path, ".half"), path]));
  for (const { id, status, etag } of rows) {
    const path = paths.get(id);
    if (etag !== null) assert.equal(path && etagOf(readFileSync(path)), etag, `the file of ${id} is lost`);
    if (etag !== null || (!isEnd && status === "in_progress")) paths.delete(id);
  }
  assert.deepEqual([...paths.values()], [], "files without a generation");
}
