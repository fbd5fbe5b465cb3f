import * as v from "valibot";

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
  /** Set from the start for a rollback, which builds what was built before. */
  readonly version: string | null;
  /** The commit that was pushed; null where the branch decides. */
  readonly revision: string | null;
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
export const progress = v.variant("state", [
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
  /** How long a deployment stays queued at least, in milliseconds. */
  delay(work: Pick<DeploymentWork, "source" | "environment">): number;
  step(work: DeploymentWork): Promise<Progress>;
}
