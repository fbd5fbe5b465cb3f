import { type SimulatedOutcome, simulatedOutcome } from "../../drivers/simulated-outcome.ts";
import { check } from "../../kernel/validation.ts";

/**
 * A deployment or generation. `script` is the outcome of its scenario as JSON; clearing the scenarios does not change
 * it.
 */
interface Scripted {
  readonly script: string | null;
}

/** The outcome of the scenario that the work took; null if it took none. */
export const storedOutcome = ({ script }: Scripted): SimulatedOutcome | null =>
  script === null ? null : check(simulatedOutcome, JSON.parse(script));

/** The pace of work that advances by polls or by a tester's steps; false if it advances with time. */
export function isStepped(work: Scripted): "polls" | "manual" | false {
  const pace = storedOutcome(work)?.pace;
  return (pace === "polls" || pace === "manual") && pace;
}
