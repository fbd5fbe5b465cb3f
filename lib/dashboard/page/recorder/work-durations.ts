import type { SimulatedOutcome } from "../../../drivers/simulated-outcome.ts";
import { isRunning, type Json } from "./recorded-names.ts";

const hour_ms = 3_600_000;
const usual_ms = { queued: 1_000, building: 3_000, deploying: 2_000, in_progress: 2_000 };
type Phase = keyof typeof usual_ms;

/** The states that work goes through, in their order. */
export const phasesOf = (id: string): readonly Phase[] =>
  id.startsWith("dep_") ? ["queued", "building", "deploying"] : ["queued", "in_progress"];

export const createdAtOf = ({ created_at }: Json): number =>
  typeof created_at === "number" ? created_at * 1000 : Date.parse(String(created_at));

/** Writes milliseconds as a duration in one unit. */
export function durationOf(ms: number): string {
  const units = [
    ["h", hour_ms],
    ["m", 60_000],
    ["s", 1_000],
    ["ms", 1],
  ] as const;
  const [unit, size] = units.find(([, one]) => ms % one === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

/**
 * How long each state lasts, in milliseconds since the creation: `began` has the states whose beginning is known, and
 * the last one ends at `end`.
 */
export function durationsOf(
  phases: readonly Phase[],
  began: { readonly [phase: string]: number | undefined },
  end: number,
) {
  const durations: { [phase in Phase]?: string } = {};
  let at = 0;
  phases.forEach((phase, i) => {
    const next = phases[i + 1];
    const usual = next === "deploying" ? end - usual_ms.deploying : at + usual_ms[phase];
    const until = Math.max(at, Math.min(end, next === undefined ? end : (began[next] ?? usual)));
    durations[phase] = durationOf(Math.round(until - at));
    at = until;
  });
  return durations;
}

/** The durations of work that stays in a state for longer than the recording, which ends after these milliseconds. */
export const heldDurations = (
  id: string,
  state: string,
  began: { readonly [phase: string]: number | undefined },
  recorded: number,
) => {
  const phases = phasesOf(id);
  const last = Math.max(0, phases.indexOf(state as Phase));
  const hours = Math.ceil(Math.max(0, recorded) / hour_ms) + 1;
  const durations = durationsOf(phases.slice(0, last + 1), began, hours * hour_ms);
  return { ...durations, [phases[last] ?? "queued"]: `${hours}h` };
};

/** How work that ran when a recording began went on, by its states at the beginning and at the end. */
export function outcomeBetween(id: string, before: Json, after: Json, endedAt: number): SimulatedOutcome {
  const createdAt = createdAtOf(before);
  const since = (time: unknown) => {
    const ms = Date.parse(String(time)) - createdAt;
    return Number.isNaN(ms) ? undefined : ms;
  };
  const began = { [String(before["status"])]: since(before["updated_at"]) };
  const status = String(after["status"]);
  const isFailed = status === "failed" || status === "rolled_back";
  if (isRunning(id, after))
    return {
      durations: heldDurations(id, status, { [status]: since(after["updated_at"]), ...began }, endedAt - createdAt),
    };
  if (!isFailed && status !== "active" && status !== "completed")
    return { durations: heldDurations(id, String(before["status"]), began, endedAt - createdAt) };
  const isShort = status === "failed" && (after["version"] ?? null) === null && id.startsWith("dep_");
  const phases = phasesOf(id).filter((phase) => !isShort || phase !== "deploying");
  const failure = status === "rolled_back" ? ("health_check" as const) : isShort ? "building" : "deploying";
  return {
    ...(isFailed && { result: "fail" as const, ...(id.startsWith("dep_") && { at: failure }) }),
    durations: durationsOf(phases, began, since(after["completed_at"] ?? after["updated_at"]) ?? endedAt - createdAt),
  };
}
