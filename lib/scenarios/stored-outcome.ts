import { type SimulatedOutcome, simulatedOutcome } from "../drivers/simulated-outcome.ts";
import { check } from "../kernel/validation.ts";

/** Work that may have taken a scenario; what it told is kept with the work, whatever becomes of the scenario. */
interface Scripted {
  readonly script: string | null;
}

/** What the scenario told that some work took; null where it took none. */
export const storedOutcome = ({ script }: Scripted): SimulatedOutcome | null =>
  script === null ? null : check(simulatedOutcome, JSON.parse(script));

/** What moves work instead of time: polls, or the steps of a tester. */
export function isStepped(work: Scripted): "polls" | "manual" | false {
  const pace = storedOutcome(work)?.pace;
  return (pace === "polls" || pace === "manual") && pace;
}
