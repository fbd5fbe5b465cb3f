import type { DeploymentSource } from "../deployment/contract.ts";

/** The rule that a source breaks where these runtimes are all there is; undefined where one of them runs it. */
export const refusalOf = (runtimes: readonly string[], { type }: Pick<DeploymentSource, "type">): string | undefined =>
  type === "image" && runtimes.every((name) => name === "process")
    ? "must be git: this service runs no images (option deployments.runtime)"
    : undefined;
