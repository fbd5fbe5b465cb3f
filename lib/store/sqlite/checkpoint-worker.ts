/** A worker thread that checkpoints a large write-ahead log, and exits when the log is empty. */
import { parentPort, workerData } from "node:worker_threads";
import { systemTimer } from "../../kernel/clock.ts";
import { openDatabase } from "./connection.ts";

/** Pages that a checkpoint writes in a few milliseconds. */
const fewPages = 1000;

const database = openDatabase(String(workerData));
// Never wait for a lock: a checkpoint that waits for readers blocks all writers.
database.pragma("busy_timeout = 0");

interface Result {
  readonly busy: number;
  /** The pages in the log, and those written back. Both are -1 while another connection checkpoints. */
  readonly log: number;
  readonly checkpointed: number;
}
const run = (pragma: string) => (database.pragma(pragma) as Result[])[0] as Result;

let before = 0;
function round(): void {
  const { log, checkpointed } = run("wal_checkpoint(PASSIVE)");
  const isHeld = checkpointed < log;
  // TRUNCATE blocks writers, so it runs only when few pages were added since the last round.
  const isShort = !isHeld && log >= 0 && Math.abs(checkpointed - before) < fewPages;
  before = checkpointed;
  parentPort?.postMessage(isHeld);
  if (isShort && run("wal_checkpoint(TRUNCATE)").busy === 0) return void database.close();
  systemTimer(isHeld ? 100 : 10, round, { hold: true });
}
round();
