import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import type { Report } from "../transfer/progress.ts";
import { freeBytes } from "../write-failure.ts";
import { openRaw } from "./connection.ts";
import { runningServer } from "./database-lock.ts";

const megabyte = 1024 * 1024;

/**
 * Copies a database while its server writes. SQLite's own backup restarts at each commit of another process, or reads
 * the whole file in one snapshot while the write-ahead log grows. So the file is first copied as it is, without a
 * snapshot. Then, in a snapshot, the pieces that differ are copied again, and finally the log. This is safe: if a
 * checkpoint writes a page to the file meanwhile, the log has that page too. The second step is short, because the file
 * is in memory by then.
 *
 * A process that has the database open passes a `descriptor`, and closes it only after the database: closing any
 * descriptor of a file drops all locks of the process on it.
 */
export async function copyOnline(
  source: string,
  target: string,
  { descriptor, report }: { readonly descriptor?: number | undefined; readonly report?: Report } = {},
): Promise<void> {
  const database = openRaw(source);
  const [from, to] = [descriptor ?? openSync(source, "r"), openSync(target, "w+", 0o600)];
  try {
    const total = Math.ceil(fstatSync(from).size / megabyte);
    for (const at of copyChanges(from, to)) {
      report?.({ what: "copying the database, in MB", done: Math.min(total, Math.ceil(at / megabyte)), total });
      await yieldToEventLoop();
    }
    database.exec("begin");
    // The snapshot begins with the first read.
    database.prepare("select count(*) from sqlite_schema").get();
    for (const _ of copyChanges(from, to));
    if (existsSync(`${source}-wal`)) copyFile(`${source}-wal`, `${target}-wal`);
    database.exec("commit");
  } finally {
    database.close();
    if (descriptor === undefined) closeSync(from);
    closeSync(to);
  }
  const copy = openRaw(target);
  try {
    copy.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    copy.close();
  }
}

/** Makes one file equal to another, a megabyte at a time. Yields how many bytes are equal. */
function* copyChanges(from: number, to: number): Generator<number> {
  const [piece, old] = [Buffer.alloc(megabyte), Buffer.alloc(megabyte)];
  let at = 0;
  for (let read = readSync(from, piece, 0, megabyte, at); read > 0; read = readSync(from, piece, 0, megabyte, at)) {
    const fresh = piece.subarray(0, read);
    if (!old.subarray(0, readSync(to, old, 0, megabyte, at)).equals(fresh)) writeAll(to, fresh, at);
    at += read;
    yield at;
  }
  if (fstatSync(to).size > at) ftruncateSync(to, at);
}

function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at + done);
}

/** Node's own copy waits for ever if the file is cut meanwhile, and gives the copy the mode of the file. */
function copyFile(source: string, target: string): void {
  const [from, to] = [openSync(source, "r"), openSync(target, "w+", 0o600)];
  try {
    for (const _ of copyChanges(from, to));
  } finally {
    closeSync(from);
    closeSync(to);
  }
}

/** Below this size, reading is so fast that a copy is not needed. */
const small = 32 * megabyte;

const copyFor = (path: string) => `${path}.checked`;

export function removeCopy(path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(copyFor(path) + end, { force: true });
}

/**
 * Runs work that reads a whole database. If a server is writing to a large one, the work gets a copy, unless the copy
 * could fill the disk. The server itself passes a `descriptor`, see `copyOnline`.
 */
export async function withCopy<T>(path: string, work: (path: string) => T, descriptor?: number): Promise<T> {
  const { size } = statSync(path);
  const isServed = descriptor !== undefined || runningServer(path) !== undefined;
  if (size < small || !isServed || freeBytes(path) < 2 * size) return work(path);
  // A killed check may have left one.
  removeCopy(path);
  try {
    await copyOnline(path, copyFor(path), { descriptor });
    return work(copyFor(path));
  } finally {
    removeCopy(path);
  }
}
