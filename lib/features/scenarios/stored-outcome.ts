import { type SimulatedOutcome, simulatedOutcome } from "../../drivers/simulated-outcome.ts";
import { check } from "../../kernel/validation.ts";

/** `script` is the outcome of a scenario as JSON. It stays when the scenarios are cleared. */
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
