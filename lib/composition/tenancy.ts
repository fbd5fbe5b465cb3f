import { BadOptions, type Settings } from "../config/parse-options.ts";
import { describeProtection, type Protection, separationLacks } from "../drivers/deployment/protections.ts";
import type { Features } from "./features.ts";

/**
 * Refuses to start if several organizations' code would run on a machine that cannot isolate it. @throws {BadOptions}
 * naming the missing part and the command that adds it.
 */
export async function requireSeparation(
  { organizations }: Pick<Features, "organizations">,
  { mode, deployments }: Settings,
  protections: readonly Protection[],
): Promise<void> {
  const missing = separationLacks(protections);
  if (mode !== "start" || deployments.tenancy === "trusted" || missing.length === 0) return;
  if ((await organizations.all()).length < 2) return;
  throw new BadOptions(
    "deployments.runtime",
    `must not be process here: the database has several organizations, and this machine cannot isolate their code (${missing.map(describeProtection).join(". ")}); add what is missing, or set --tenancy trusted if they trust each other`,
  );
}
