import { type SimulatedOutcome, simulatedOutcome } from "../drivers/outcome.ts";
import { check } from "../kernel/api.ts";
import type { Row } from "../store/tables.ts";

type Scripted = Pick<Row<"deployments">, "script">;

/** What the scenario told that a deployment took; null where it took none. */
export const scriptOf = ({ script }: Scripted): SimulatedOutcome | null =>
  script === null ? null : check(simulatedOutcome, JSON.parse(script));

/** What moves a deployment instead of time: polls, or the steps of a tester. */
export function isStepped(row: Scripted): "polls" | "manual" | false {
  const pace = scriptOf(row)?.pace;
  return (pace === "polls" || pace === "manual") && pace;
}
