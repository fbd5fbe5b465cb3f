/** The public surface of svc-server, and nothing else. */

export type { NewFault, StoredFault } from "./control/faults.ts";
export type { JournalEntry, JournalQuery } from "./control/journal.ts";
export { verifySignature, verifyStandardWebhook } from "./deliveries/signature.ts";
export type { Arrival } from "./drivers/arrivals.ts";
export type {
  DeploymentDriver,
  DeploymentWork,
  LogLine,
  Progress,
} from "./drivers/deployment.ts";
export type { Sink } from "./drivers/functions.ts";
export type { GenerationDriver, GenerationWork, Progress as GenerationProgress } from "./drivers/generation.ts";
export type { Caught } from "./drivers/inbox.ts";
export type { SimulatedOutcome } from "./drivers/outcome.ts";
export type { InboxAnswer } from "./drivers/scripted.ts";
export { simulatedDeployments } from "./drivers/simulated.ts";
export { type SimulatedGeneration, simulatedGenerations } from "./drivers/simulated-generations.ts";
export type { Advanced, Service } from "./facade.ts";
export type { Listening } from "./http/server.ts";
export { Problem, type ProblemCode, problems } from "./kernel/errors.ts";
export type { Fields, Log } from "./kernel/log.ts";
export { BadOptions, type Options } from "./options.ts";
export type { NewScenario } from "./scenarios/schema.ts";
export type { Scenario } from "./scenarios/service.ts";
export { BadSeed, type Seed } from "./seed.ts";
export { createService } from "./service.ts";
export { Unusable } from "./store/unusable.ts";
export type { Client } from "./typed.ts";
