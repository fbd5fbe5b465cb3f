import type { Report } from "../../lib/store/transfer/progress.ts";
import { authentication } from "./authentication.ts";
import { type Check, Differs, type Probe, Untried } from "./check.ts";
import { connectionWrites, generation } from "./connections.ts";
import { conventions, everyAnswer, limits, pagination } from "./conventions.ts";
import { deploymentWrites } from "./deploying.ts";
import { events, signed, unsigned } from "./events.ts";
import { projectWrites } from "./own-project.ts";
import { createTrial, requestIdOf, type Trial, type TrialOptions } from "./probe.ts";
import { records } from "./records.ts";
import { observed, restoredRelease } from "./releases.ts";

export interface Finding {
  readonly chapter: string;
  readonly sentence: string;
  readonly result: "holds" | "differs" | "untried";
  /** The server's actual behaviour, or why the sentence could not be tested; null if it holds. */
  readonly reason: string | null;
  /** The id of the last request, which support asks for. */
  readonly request_id: string | null;
}

export const needsWrite = "it changes something, which needs --write";

/** Sentences that a trial cannot test, with the reason. */
const outside: readonly (readonly [string, string, string])[] = [
  ["Limits", "Beyond the limit, a request is 429 until the window resets", "it would use up the requests of the key"],
  [
    "Events",
    "A failed delivery is retried up to 5 times, after 30 s, 2 min, 10 min, 30 min and 2 h",
    "it takes three hours",
  ],
  ["Events", "A delivery fails without a 2xx within 10 seconds", "it needs a receiver that is slow"],
  ["Events", "user.invited and user.removed are sent", "it would invite and remove somebody"],
  ["Roles", "Each role may do what its capabilities say", "it needs the keys of four people"],
  ["Users", "The Owner's role cannot be changed, and one owner stays", "it would change the role of somebody"],
  ["Users", "Removing a user revokes all of their keys", "it would remove somebody"],
  ["Deployments", "A fatal error makes a deployment failed, with deployment.failed", "no build here fails on demand"],
];

/** Checks that modify data run before those of lists, so the lists have content. */
export const checks: readonly Check[] = [
  ...authentication,
  ...limits,
  ...conventions,
  ...projectWrites,
  ...deploymentWrites,
  ...connectionWrites,
  ...events,
  ...pagination,
  ...records,
  ...everyAnswer,
];

/** Tests all sentences in order, or `only` one. */
export async function verify({
  write,
  only,
  stop,
  report = () => {},
  ...options
}: TrialOptions & {
  readonly write: boolean;
  readonly only?: string;
  /** Aborts the trial: it removes what it created, and rejects with the reason. */
  readonly stop?: AbortSignal;
  readonly report?: Report;
}): Promise<Finding[]> {
  const trial = createTrial(options);
  const findings: Finding[] = [];
  const stopped = new Promise<never>((_, reject) => stop?.addEventListener("abort", () => reject(stop.reason)));
  stopped.catch(() => {});
  let tried = Promise.resolve();
  try {
    if (write && only === undefined) await Promise.race([beginWork(trial), stopped]);
    for (const [done, { chapter, sentence, writes, run }] of checks.entries()) {
      if (only !== undefined && sentence !== only) continue;
      const probe = trial.probe();
      const note = (result: Finding["result"], reason: string | null, answer = probe.last) =>
        void findings.push({ chapter, sentence, result, reason, request_id: requestIdOf(answer) ?? null });
      if (writes && !write) {
        note("untried", needsWrite);
        continue;
      }
      report({ what: `checking ${chapter}`, done, total: checks.length });
      tried = run(probe).then(
        () => note("holds", null),
        (error) => {
          if (error instanceof Differs) return note("differs", error.message, error.answer);
          if (error instanceof Untried) return note("untried", error.message);
          throw error;
        },
      );
      await Promise.race([tried, stopped]);
    }
  } finally {
    await trial.undo();
    // The interrupted check may have created something after the first cleanup.
    await tried.catch(() => {});
    await trial.undo();
  }
  for (const [chapter, sentence, reason] of outside)
    findings.push({ chapter, sentence, result: "untried", reason, request_id: null });
  return findings;
}

/**
 * Starts slow work in parallel with the first checks. Endpoints are created before the work whose events they receive.
 */
async function beginWork(trial: Trial): Promise<void> {
  const begin = (work: (on: Probe) => Promise<unknown>) => work(trial.probe()).catch(() => {});
  await Promise.all([signed, unsigned].map(begin));
  for (const work of [restoredRelease, observed, generation]) void begin(work);
}
