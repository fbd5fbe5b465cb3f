import { type Check, Differs, Untried } from "./check.ts";
import { connectionWrites, generation } from "./connections.ts";
import { authentication, conventions, limits, pagination } from "./conventions.ts";
import { deploymentWrites } from "./deploying.ts";
import { projectWrites } from "./own-project.ts";
import { createTrial, requestIdOf, type TrialOptions } from "./probe.ts";
import { records } from "./records.ts";
import { observed, secondRelease } from "./releases.ts";

/** What became of one sentence. */
export interface Finding {
  readonly chapter: string;
  readonly sentence: string;
  readonly result: "holds" | "differs" | "untried";
  /** What the server did instead, or why it could not be tried; null where it holds. */
  readonly reason: string | null;
  /** The id of the last request, as support asks for it. */
  readonly request_id: string | null;
}

/** Why a sentence about changes is not tried. */
export const needsWrite = "it changes something, which needs --write";

/** Sentences that need what a trial does not have, with the reason. */
const outside: readonly (readonly [string, string, string])[] = [
  ["Limits", "Beyond the limit, a request is 429 until the window resets", "it would use up the requests of the key"],
  [
    "Events",
    "A webhook with a secret gets payloads with X-Service-Signature",
    "it needs a receiver that the server reaches",
  ],
  ["Events", "A failed delivery is retried up to 5 times", "it takes three hours"],
  [
    "Users",
    "An invitation expires after 7 days, and is not listed before it is accepted",
    "an invitation is a mail to somebody",
  ],
  ["Users", "Removing a user revokes all of their keys", "it would remove somebody"],
];

/** Changes come before the lists, which then have something to show. */
const checks: readonly Check[] = [
  ...authentication,
  ...limits,
  ...conventions,
  ...projectWrites,
  ...deploymentWrites,
  ...connectionWrites,
  ...pagination,
  ...records,
];

/** Tries every sentence, one after another, or `only` one. */
export async function verify({
  write,
  only,
  stop,
  ...options
}: TrialOptions & {
  readonly write: boolean;
  readonly only?: string;
  /** Ends the trial at once: it removes what it made, and rejects with the reason. */
  readonly stop?: AbortSignal;
}): Promise<Finding[]> {
  const trial = createTrial(options);
  const findings: Finding[] = [];
  // Work that takes its time goes on beside the first checks.
  if (write && only === undefined)
    for (const begin of [secondRelease, observed, generation]) begin(trial.probe()).catch(() => {});
  const stopped = new Promise<never>((_, reject) => stop?.addEventListener("abort", () => reject(stop.reason)));
  stopped.catch(() => {});
  let tried = Promise.resolve();
  try {
    for (const { chapter, sentence, writes, run } of checks) {
      if (only !== undefined && sentence !== only) continue;
      const probe = trial.probe();
      const note = (result: Finding["result"], reason: string | null, answer = probe.last) =>
        void findings.push({ chapter, sentence, result, reason, request_id: requestIdOf(answer) ?? null });
      if (writes && !write) {
        note("untried", needsWrite);
        continue;
      }
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
    // A sentence that was being tried may have made something since.
    await tried.catch(() => {});
    await trial.undo();
  }
  for (const [chapter, sentence, reason] of outside)
    findings.push({ chapter, sentence, result: "untried", reason, request_id: null });
  return findings;
}
