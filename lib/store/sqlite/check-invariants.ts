import type { Database } from "better-sqlite3";
import { startWorker } from "../../kernel/node/worker-thread.ts";
import { invariants, type Violation, violationOf } from "../invariants.ts";
import type { SqliteEngine } from "./engine.ts";
import { removeCopy } from "./online-copy.ts";

/** Checks an in-memory database between transactions, one rule per turn of the event loop. */
export async function checkInMemory(
  database: Database,
  engine: SqliteEngine,
  signal: AbortSignal,
): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const rule of Object.keys(invariants)) {
    const violation = await engine.betweenTransactions(() => {
      if (signal.aborted) throw cutOff();
      return violationOf(database, rule);
    });
    if (violation) violations.push(violation);
  }
  return violations;
}

/** Checks an open database file in a worker thread, to keep the event loop free. */
export function createFileChecks(file: string) {
  let running: Promise<unknown> = Promise.resolve();
  return {
    check(signal: AbortSignal): Promise<Violation[]> {
      const checked = inThread(file, signal);
      running = Promise.allSettled([running, checked]);
      return checked;
    },
    /** Waits for running checks. Called when the database is closed. */
    end: () => running,
  };
}

const cutOff = () => new Error("the service was closed or its state replaced before all rules were checked");

function inThread(file: string, signal: AbortSignal): Promise<Violation[]> {
  const thread = startWorker("checking", import.meta.url, "./invariants-worker.ts", file);
  let stop = () => {};
  const violations = new Promise<Violation[]>((resolve, reject) => {
    stop = () => {
      void thread.terminate().then(() => {
        removeCopy(file);
        reject(cutOff());
      });
    };
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", stop);
    signal.addEventListener("abort", stop);
  });
  return violations.finally(() => signal.removeEventListener("abort", stop));
}
