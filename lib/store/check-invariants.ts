import type { Database } from "better-sqlite3";
import { startWorker } from "../kernel/worker-thread.ts";
import { invariants, type Violation, violationOf } from "./invariants.ts";
import type { SqliteEngine } from "./sqlite-engine.ts";

/**
 * Checks the rules of an open database: one in a file in a thread of its own, so that the event loop goes on; one in memory
 * between two transactions, a rule a turn.
 */
export async function checkInvariants(
  { database, engine }: { readonly database: Database; readonly engine: SqliteEngine },
  signal: AbortSignal,
): Promise<Violation[]> {
  if (!database.memory) return inThread(database.name, signal);
  const found: Violation[] = [];
  for (const rule of Object.keys(invariants)) {
    const violation = await engine.betweenTransactions(() => {
      if (signal.aborted) throw cutOff();
      return violationOf(database, rule);
    });
    if (violation) found.push(violation);
  }
  return found;
}

const cutOff = () => new Error("the service was closed or its state replaced before all rules were checked");

function inThread(file: string, signal: AbortSignal): Promise<Violation[]> {
  const thread = startWorker("checking", import.meta.url, "./invariants-worker.ts", file);
  let stop = () => {};
  const found = new Promise<Violation[]>((resolve, reject) => {
    stop = () => {
      reject(cutOff());
      void thread.terminate();
    };
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", stop);
    signal.addEventListener("abort", stop);
  });
  return found.finally(() => signal.removeEventListener("abort", stop));
}
