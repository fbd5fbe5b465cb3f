import { featureJobs } from "../../lib/composition/features.ts";
import type { Job, Outcome } from "../../lib/kernel/job.ts";
import type { Tx } from "../../lib/kernel/transaction-hooks.ts";
import { type End, ended } from "./coverage.ts";

/** Decided before a job's run begins: it runs, fails unexpectedly, or kills its process. */
type Fate = "runs" | "fails" | "kills";

/** Decides the fate of each run, and is notified of its end. */
export interface Watcher {
  fate(kind: string): Fate;
  /** Called for each run that kills its process. */
  kill(): void;
  ended(what: string): void;
}

/** The message of the errors that a watcher causes. */
export const unexpected = "an unexpected error of a simulation";

/** Passes the runs of all jobs through a watcher. Returns a function that stops it. */
export function watchJobs(watcher: Watcher): () => void {
  const before = featureJobs.map((job) => [job, { run: job.run, exhausted: job.exhausted }] as const);
  for (const job of featureJobs) Object.assign(job, watched(job, watcher));
  return () => {
    for (const [job, own] of before) Object.assign(job, own);
  };
}

function watched({ kind, run, exhausted }: Job, watcher: Watcher): Pick<Job, "run" | "exhausted"> {
  const note = (end: End) => watcher.ended(ended(kind, end));
  const noted = (outcome: Outcome): Outcome => {
    if (outcome.kind !== "until") {
      note(outcome.kind);
      return outcome;
    }
    const next = async (tx: Tx) => {
      const at = await outcome.next(tx);
      note(at === undefined ? "done" : "snooze");
      return at;
    };
    return { ...outcome, next };
  };
  return {
    async run(...given) {
      const fate = watcher.fate(kind);
      if (fate === "kills") watcher.kill();
      try {
        if (fate === "fails") throw new Error(unexpected);
        return noted(await run(...given));
      } catch (error) {
        note("failed");
        throw error;
      }
    },
    async exhausted(args, reason, services, tx) {
      note(reason === "worker_crashed" ? "crashed" : "exhausted");
      await exhausted(args, reason, services, tx);
    },
  };
}
