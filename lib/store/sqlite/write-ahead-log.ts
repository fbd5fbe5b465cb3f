import { once } from "node:events";
import { statSync } from "node:fs";
import type { Worker } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { systemTimer } from "../../kernel/clock.ts";
import { startWorker } from "../../kernel/node/worker-thread.ts";
import type { Watcher } from "../write-failure.ts";

const megabyte = 1024 * 1024;
/** SQLite restarts the log at 4 MB. Beyond this size, a thread checkpoints it. */
const large = 16 * megabyte;
/** Beyond this size, the operator is informed. */
const alarming = 64 * megabyte;

export type LogKeeper = ReturnType<typeof createLogKeeper>;

export const logSize = (path: string): number => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Keeps the write-ahead log of a database small. At a commit, SQLite checkpoints the log up to the oldest open
 * snapshot. After a long reader, one commit would checkpoint a large log and block the event loop. So a thread
 * checkpoints a large log, and truncates the file once nobody reads it.
 */
export function createLogKeeper(path: string, database: () => Database) {
  let watcher: Watcher | undefined;
  let thread: Worker | undefined;
  let isLookPlanned = false;
  let isAlarmed = false;

  /** Lets commits checkpoint and truncate the log, or not: with a large log, that blocks the event loop. */
  const leaveToCommits = (isLeft: boolean) => {
    if (!database().open) return;
    database().pragma(`wal_autocheckpoint = ${isLeft ? 1000 : 0}`);
    database().pragma(`journal_size_limit = ${isLeft ? alarming : -1}`);
  };

  const begin = () => {
    leaveToCommits(false);
    thread = startWorker("checkpoints", import.meta.url, "./checkpoint-worker.ts", path);
    thread.unref();
    thread.on("message", (isHeld: boolean) => {
      const size = logSize(path);
      if (isAlarmed || !isHeld || size < alarming) return;
      isAlarmed = true;
      watcher?.log(size, true);
    });
    // Ignored: the next transaction starts another thread, and a disk error also hits writes, which report it.
    thread.on("error", () => {});
    thread.on("exit", ended);
  };

  const ended = () => {
    thread = undefined;
    leaveToCommits(true);
    const size = logSize(path);
    if (!isAlarmed || size > large) return;
    isAlarmed = false;
    watcher?.log(size, false);
  };

  const look = () => {
    isLookPlanned = false;
    if (!thread && database().open && logSize(path) > large) begin();
  };

  return {
    /** Called when a transaction begins, since the log grows. Calls `lookFirst`, at most four times a second. */
    written(lookFirst: () => void): void {
      if (isLookPlanned) return;
      lookFirst();
      isLookPlanned = true;
      systemTimer("250ms", look);
    },
    watch(given: Watcher): void {
      watcher = given;
    },
    /** Stops the thread. The next transaction may start it again. */
    async pause(): Promise<void> {
      if (!thread) return;
      const gone = once(thread, "exit");
      void thread.terminate();
      await gone;
    },
  };
}
