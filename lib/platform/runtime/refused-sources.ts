import type { DeploymentSource } from "../../drivers/deployment/contract.ts";

/** The rule that a source breaks if none of these runtimes can run it; undefined if one can. */
export const refusalOf = (runtimes: readonly string[], { type }: Pick<DeploymentSource, "type">): string | undefined =>
  type === "image" && runtimes.every((name) => name === "process")
    ? "must be git: this service runs no images (option deployments.runtime)"
    : undefined;
