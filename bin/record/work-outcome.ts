import { createdAtOf, durationsOf, heldDurations, phasesOf } from "../../lib/dashboard/page/recorder/work-durations.ts";
import type { SimulatedOutcome } from "../../lib/drivers/simulated-outcome.ts";
import type { Work } from "./recorder.ts";
import { ofDeployment, ofGeneration } from "./scenarios-of.ts";
import type { Sight } from "./steps.ts";
import type { Cleaner } from "./without-secrets.ts";

/** A deployment or a generation, as a recording saw it. */
export interface SeenWork {
  readonly id: string;
  readonly work: Work;
  readonly reason: string | undefined;
  readonly sights: readonly Sight[];
  readonly createdAt: number;
  /** When its environment became free, by the service's clock. Until then, the work waited in the queue. */
  readonly freeAt: number;
  readonly cancelledAt: number | undefined;
  readonly endedAt: number;
}

/** Milliseconds from the creation to the beginning of each state, as the service or the recorder saw it. */
const begunOf = ({ work, sights, createdAt }: SeenWork) => {
  const seen = sights.map(({ status, first }) => [status, first - createdAt] as const);
  const entered = Object.entries(work.entered).map(([status, at]) => [status, at - createdAtOf(work.record)] as const);
  const all: { [status: string]: number } = Object.fromEntries(seen);
  for (const [status, ms] of entered) if (!Number.isNaN(ms)) all[status] = Math.min(ms, all[status] ?? ms);
  return all;
};

/** The outcome of work that ended. It ends no later than in the recording, because later calls rely on that. */
function ended(seen: SeenWork, cleaner: Cleaner): SimulatedOutcome | undefined {
  const { id, work, reason, sights, createdAt, freeAt } = seen;
  const scenario = id.startsWith("dep_") ? ofDeployment(work, reason, cleaner) : ofGeneration(work, cleaner);
  if (!scenario) return undefined;
  const outcome = scenario.outcome as SimulatedOutcome;
  const isShort = outcome.result === "fail" && outcome.at === "building";
  const phases = phasesOf(id).filter((phase) => !isShort || phase !== "deploying");
  const began = { building: Math.max(1_000, freeAt - createdAtOf(work.record)), ...begunOf(seen) };
  const completed = Date.parse(String(work.record["completed_at"])) - createdAtOf(work.record);
  const noticed = Math.max(0, (sights.at(-1)?.first ?? createdAt) - createdAt);
  const end = Number.isNaN(completed) ? noticed : Math.min(completed, noticed);
  return { ...outcome, durations: durationsOf(phases, began, end) };
}

/** The outcome of work that did not end. It stays in its last state, until its cancellation or the recording's end. */
function held(seen: SeenWork): SimulatedOutcome {
  const { id, sights, createdAt, cancelledAt, endedAt } = seen;
  const state = sights.at(-1)?.status ?? "queued";
  return { durations: heldDurations(id, state, begunOf(seen), (cancelledAt ?? endedAt) - createdAt) };
}

/** The outcome that makes simulated work proceed like the real work; undefined if only its creation was seen. */
export function outcomeOf(seen: SeenWork, cleaner: Cleaner): SimulatedOutcome | undefined {
  const { id, sights, cancelledAt } = seen;
  const status = sights.at(-1)?.status;
  if (cancelledAt === undefined && phasesOf(id).every((phase) => phase !== status)) return ended(seen, cleaner);
  return cancelledAt === undefined && !sights.at(-1)?.isRead ? undefined : held(seen);
}
