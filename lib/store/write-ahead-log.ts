import { once } from "node:events";
import { statSync } from "node:fs";
import type { Worker } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { systemTimer } from "../kernel/clock.ts";
import { startWorker } from "../kernel/worker-thread.ts";
import type { Watcher } from "./recovery.ts";

const megabyte = 1024 * 1024;
/** SQLite restarts the log at 4 MB. A larger one is written back by a thread. */
const large = 16 * megabyte;
/** From this size on, the operator is informed. */
const alarming = 64 * megabyte;

/** Keeps the write-ahead log of a database small. */
export interface LogKeeper {
  /** A transaction begins, so the log grows. Calls `look` first, four times a second at most. */
  written(look: () => void): void;
  watch(watcher: Watcher): void;
  /** Ends the thread, until the next transaction. */
  pause(): Promise<void>;
}

/** The size of the log in bytes. */
export const logSize = (path: string): number => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;

/**
 * At a commit, SQLite writes the log back to the database as far as the oldest snapshot that a program reads. After a
 * long reader, one commit would write back a large log: the event loop was blocked for half a second after a reader of
 * 30 s. While the log is large, a thread does this instead, and truncates the file when nobody reads it any more.
 */
export function createLogKeeper(path: string, database: () => Database): LogKeeper {
  let watcher: Watcher | undefined;
  let thread: Worker | undefined;
  let isLookPlanned = false;
  let isAlarmed = false;

  /** Whether commits of this connection write the log back, and cut it off. Cutting 300 MB off takes 30 to 150 ms. */
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
    // The next transaction starts another thread. An error of the disk also meets the writes, which report it.
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
    written(lookFirst) {
      if (isLookPlanned) return;
      lookFirst();
      isLookPlanned = true;
      systemTimer("250ms", look);
    },
    watch(given) {
      watcher = given;
    },
    async pause() {
      if (!thread) return;
      const gone = once(thread, "exit");
      void thread.terminate();
      await gone;
    },
  };
}
