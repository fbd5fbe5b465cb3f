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

export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
}

/** How far a step is. `logs` are the lines that are new since the last answer. */
export type Progress =
  | {
      readonly state: "running";
      readonly again_ms: number;
      readonly handle: string | null;
      readonly logs: readonly LogLine[];
    }
  /** A build that is done names its version. */
  | {
      readonly state: "done";
      readonly version: string | null;
      readonly logs: readonly LogLine[];
    }
  | {
      readonly state: "failed";
      readonly message: string;
      readonly logs: readonly LogLine[];
    }
  /** The health check of a rollout failed: the previous release stays, where there is one. */
  | {
      readonly state: "unhealthy";
      readonly message: string;
      readonly logs: readonly LogLine[];
    };

/** Builds and rolls out. It is asked for the same deployment and step again and again until that step has ended. */
export interface DeploymentDriver {
  /** How long a deployment stays queued at least, in milliseconds. */
  delay(work: Pick<DeploymentWork, "source" | "environment">): number;
  step(work: DeploymentWork): Promise<Progress>;
}
