import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";
import { createRandom } from "../kernel/random.ts";
import { freeBytes } from "./write-failure.ts";

/** Room for a full log and the pages that its checkpoint adds. */
const size = 8 * 1024 * 1024;

/** The part that is kept for a start: the lock, the shared memory, and the first pages of the log. */
const forStart = 1024 * 1024;

/** The room that a store needs before writes go on: less would last for a few requests only. */
const slack = 4 * 1024 * 1024;

/** Reserved disk space, for deletes and for a start on a full disk. SQLite needs room in its log to delete rows. */
export interface Reserve {
  /** Whether the disk has room again; takes the reserve's space where it is missing. */
  refill(): boolean;
  /** Gives the space back to the disk, except the part that a start needs, so that no other program takes it. */
  release(): void;
  /** Gives all of it back for a start; returns whether there was any. */
  releaseForStart(): boolean;
  /** Takes the space that the disk has left, when a service ends on a full one: the next start needs some of it. */
  keepRest(): void;
}

/** A file of 8 MiB beside the database. */
export function reserveFile(database: string): Reserve {
  const path = `${database}.reserve`;
  const present = () => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const take = (bytesOf: () => number) => {
    let file: number | undefined;
    try {
      const bytes = bytesOf();
      file = openSync(path, "w", 0o600);
      // Random, because some file systems store zeros in no space; they compress less than a mebibyte at once. Bytes of their
      // own for all of the file took 70 ms of a start.
      const block = createRandom().bytes(Math.min(bytes, 1024 * 1024));
      for (let at = 0; at < bytes; ) at += writeSync(file, block, 0, Math.min(block.length, bytes - at));
    } catch {
      // Another program was faster, or the disk is gone. What was written stays reserved.
    } finally {
      if (file !== undefined) closeSync(file);
    }
  };
  return {
    refill() {
      const missing = size - present();
      if (freeBytes(database) < slack + Math.max(0, missing)) return false;
      if (missing <= 0) return true;
      take(() => size);
      return present() === size;
    },
    release() {
      if (present() > forStart) truncateSync(path, forStart);
    },
    releaseForStart() {
      const held = present() > 0;
      rmSync(path, { force: true });
      return held;
    },
    keepRest: () => take(() => Math.min(size, present() + freeBytes(database))),
  };
}

/** For databases without a reserve. */
export const noReserve = (database: string): Reserve => ({
  refill: () => freeBytes(database) >= slack,
  release: () => {},
  releaseForStart: () => false,
  keepRest: () => {},
});
