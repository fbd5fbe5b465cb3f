/** A thread that writes a large write-ahead log back to its database, and ends when the log is empty. */
import { parentPort, workerData } from "node:worker_threads";
import { systemTimer } from "../kernel/clock.ts";
import { openDatabase } from "./sqlite.ts";

/** The number of pages that are written back in some milliseconds. */
const fewPages = 1000;

const database = openDatabase(String(workerData));
// It waits for no lock: while it waited for readers, nobody could write.
database.pragma("busy_timeout = 0");

interface Result {
  readonly busy: number;
  /** Pages in the log, and how many of them are in the database; -1 while another connection writes the log back. */
  readonly log: number;
  readonly checkpointed: number;
}
const run = (pragma: string) => (database.pragma(pragma) as Result[])[0] as Result;

let before = 0;
function round(): void {
  const { log, checkpointed } = run("wal_checkpoint(PASSIVE)");
  const isHeld = checkpointed < log;
  // Nobody can write during the last step, so the log written meanwhile must be short.
  const isShort = !isHeld && log >= 0 && Math.abs(checkpointed - before) < fewPages;
  before = checkpointed;
  parentPort?.postMessage(isHeld);
  if (isShort && run("wal_checkpoint(TRUNCATE)").busy === 0) return void database.close();
  systemTimer(isHeld ? 100 : 10, round, { hold: true });
}
round();
