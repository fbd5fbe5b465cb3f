import type { StoredFault } from "../emulator/instruments/faults.ts";
import type { UnusedAnswers } from "../emulator/instruments/inbox.ts";
import { describeSinkError, type SinkError } from "../emulator/instruments/sinks.ts";
import type { Scenario } from "../features/scenarios/service.ts";

interface Unused {
  readonly scenarios: readonly Scenario[];
  readonly faults: readonly StoredFault[];
  readonly answers: readonly UnusedAnswers[];
}

/** Throws if a strict service has scenarios, faults or answers that were never used, or if a sink threw an error. */
export function rejectUnused({ scenarios, faults, answers }: Unused, errors: readonly SinkError[]): void {
  const mistakes = [
    ...errors.map(describeSinkError),
    ...scenarios.map(
      ({ match, next }) => `the scenario ${next ? `for the next ${next}` : JSON.stringify(match)} was never used`,
    ),
    ...faults.map(
      ({ match: { method = "any call", path = "" } }) => `the fault for ${`${method} ${path}`.trim()} was never used`,
    ),
    ...answers.map(
      ({ endpoint, responses }) => `the inbox "${endpoint}" never gave the answers ${JSON.stringify(responses)}`,
    ),
  ];
  if (mistakes.length > 0) throw new Error(mistakes.join("; "), { cause: errors[0]?.error });
}
