import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";
import { createRandom } from "../../kernel/random.ts";
import { freeBytes } from "../write-failure.ts";

/** The size of the reserve: a full log and the pages that its checkpoint adds. */
const size = 8 * 1024 * 1024;

/** The part that `release` keeps for the next start: the lock, the shared memory, and the first pages of the log. */
const forStart = 1024 * 1024;

/** Free space, beyond the reserve, that must exist before writes resume. Less would last for only a few requests. */
const slack = 4 * 1024 * 1024;

/** Space for deletes and a start on a full disk. SQLite needs log space to delete rows. */
export interface Reserve {
  /** Returns whether the disk has room again. Restores the reserve if it is incomplete. */
  refill(): boolean;
  /** Frees the reserve, except for the part that a start needs: another program could take that space. */
  release(): void;
  /** Frees all of the reserve for a start. Returns false if there was none. */
  releaseForStart(): boolean;
  /** When a service stops on a full disk: reserves the remaining space for the next start. */
  keepRest(): void;
}

/** A reserve in a file of 8 MiB beside the database. */
export function reserveFile(database: string): Reserve {
  const path = `${database}.reserve`;
  const present = () => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const take = (bytesOf: () => number) => {
    let file: number | undefined;
    try {
      const bytes = bytesOf();
      file = openSync(path, "w", 0o600);
      // Random bytes, because some file systems do not allocate zeros. Repeating one block is safe: file systems
      // compress less than a mebibyte at once.
      const block = createRandom().bytes(Math.min(bytes, 1024 * 1024));
      for (let at = 0; at < bytes; ) at += writeSync(file, block, 0, Math.min(block.length, bytes - at));
    } catch {
      // The disk is full again, or unavailable. Keep the part that was written.
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
