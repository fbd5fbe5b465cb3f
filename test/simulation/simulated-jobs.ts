import { featureJobs } from "../../lib/app/features.ts";
import type { Job, Outcome } from "../../lib/kernel/job.ts";
import type { Tx } from "../../lib/kernel/transaction-hooks.ts";
import { type End, ended } from "./coverage.ts";

/** What becomes of a run of a job before it begins: it goes on, fails unexpectedly, or ends its process. */
type Fate = "runs" | "fails" | "kills";

/** Who hears how jobs end, and decides about them. */
export interface Watcher {
  fate(kind: string): Fate;
  /** Called for each run that ends its process. */
  kill(): void;
  ended(what: string): void;
}

/** The message of the errors that a watcher causes. */
export const unexpected = "an unexpected error of a simulation";

/** Passes the runs of all jobs through a watcher. Ends with the answer. */
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
