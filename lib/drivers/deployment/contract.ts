import * as v from "valibot";
import type { SimulatedOutcome } from "../simulated-outcome.ts";

/** The work of a deployment driver, as plain data: after a crash the driver is called with the same work again. */
export interface DeploymentWork {
  readonly deployment_id: string;
  readonly project_id: string;
  readonly environment: string;
  readonly source: {
    readonly type: "git" | "image";
    readonly repo: string | null;
    readonly branch: string | null;
    readonly tag: string | null;
    readonly image_url: string | null;
  };
  /** The environment's present variables, secret ones too: they must not get into logs, messages or the handle. */
  readonly variables: Readonly<Record<string, string>>;
  /** Set from the start for a rollback, which builds an earlier version again. */
  readonly version: string | null;
  /** The commit that was pushed; null where the branch decides. */
  readonly revision: string | null;
  /** From the scenario of a tester; null in the mode `start`, and where no scenario matches. */
  readonly outcome: SimulatedOutcome | null;
  readonly step: "build" | "rollout";
  /** How long this step has been running, by the service's clock. */
  readonly elapsed_ms: number;
  /** The handle of the driver's last answer; null before the first. */
  readonly handle: string | null;
}

const line = v.object({ level: v.picklist(["info", "warn", "error"]), message: v.string() });
const logs = v.pipe(v.array(line), v.readonly());

/**
 * The progress of a step. `logs` are the new lines since the last answer, and `again_ms` is the wait before the next call.
 * A build that is `done` names its version. `unhealthy` is a failed health check of a rollout: the previous release
 * stays, where there is one.
 */
const progress = v.variant("state", [
  v.object({
    state: v.literal("running"),
    again_ms: v.pipe(v.number(), v.minValue(1)),
    handle: v.nullable(v.string()),
    logs,
  }),
  v.object({ state: v.literal("done"), version: v.nullable(v.pipe(v.string(), v.nonEmpty())), logs }),
  v.object({ state: v.literal("failed"), message: v.string(), logs }),
  v.object({ state: v.literal("unhealthy"), message: v.string(), logs }),
]);

export type LogLine = v.InferOutput<typeof line>;
export type Progress = v.InferOutput<typeof progress>;

/** Builds and rolls out. The service calls `step` for the same deployment and step until that step has ended. */
export interface DeploymentDriver {
  /** Whether the driver follows `outcome`. A driver that does not uses up no scenarios. */
  readonly takesScenarios?: boolean;
  /** The shortest time in the queue, in milliseconds. */
  delay(work: Pick<DeploymentWork, "source" | "environment" | "outcome">): number;
  step(work: DeploymentWork): Promise<Progress>;
}

/** Validates a driver's answer; an invalid one, or a build without a version, fails the step. */
export function checkProgress(answer: unknown, { needsVersion }: { needsVersion: boolean }): Progress {
  const { success, output, issues } = v.safeParse(progress, answer);
  const versionMissing = success && output.state === "done" && needsVersion && !output.version;
  if (success && !versionMissing) return output;
  const message = versionMissing
    ? "the driver named no version"
    : `the driver's answer is wrong: ${issues?.[0].message}`;
  return { state: "failed", message, logs: [{ level: "error", message }] };
}
