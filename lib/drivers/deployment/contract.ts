import * as v from "valibot";
import type { SimulatedOutcome } from "../simulated-outcome.ts";

/** What a driver of deployments is asked to do: plain data, so that it can be asked again after a crash. */
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
  /** Those of the environment as they are now, secret ones too: they must not get into logs, messages or the handle. */
  readonly variables: Readonly<Record<string, string>>;
  /** Set from the start for a rollback, which builds what was built before. */
  readonly version: string | null;
  /** The commit that was pushed; null where the branch decides. */
  readonly revision: string | null;
  /** What a tester told of it; null in the mode `start`, and where no scenario fits. */
  readonly outcome: SimulatedOutcome | null;
  readonly step: "build" | "rollout";
  /** How long this step has been running, by the service's clock. */
  readonly elapsed_ms: number;
  /** What the driver asked to be given back. */
  readonly handle: string | null;
}

const line = v.object({ level: v.picklist(["info", "warn", "error"]), message: v.string() });
const logs = v.pipe(v.array(line), v.readonly());

/**
 * How far a step is. `logs` are the lines that are new since the last answer. A build that is `done` names its version;
 * `unhealthy` is a failed health check of a rollout: the previous release stays, where there is one.
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

/** Builds and rolls out. It is asked for the same deployment and step again and again until that step has ended. */
export interface DeploymentDriver {
  /** Whether it does as `outcome` says. Scenarios are not used up by a driver that does not. */
  readonly takesScenarios?: boolean;
  /** How long a deployment stays queued at least, in milliseconds. */
  delay(work: Pick<DeploymentWork, "source" | "environment" | "outcome">): number;
  step(work: DeploymentWork): Promise<Progress>;
}

/** A driver is somebody else's code: what it answers is judged before it is believed. A build must name its version. */
export function judged(answer: unknown, { needsVersion }: { needsVersion: boolean }): Progress {
  const { success, output, issues } = v.safeParse(progress, answer);
  const nameless = success && output.state === "done" && needsVersion && !output.version;
  if (success && !nameless) return output;
  const message = nameless ? "the driver named no version" : `the driver's answer is wrong: ${issues?.[0].message}`;
  return { state: "failed", message, logs: [{ level: "error", message }] };
}
