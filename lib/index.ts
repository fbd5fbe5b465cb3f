/** The public surface of svc-server, and nothing else. */

export type { Advanced } from "./app/advance-clock.ts";
export type { ForkOptions } from "./app/forks.ts";
export type { Preview } from "./app/preview.ts";
export type { Service } from "./app/service-facade.ts";
export type { StoredSnapshot } from "./app/snapshot-list.ts";
export type { Page, WithMeta } from "./client/answers.ts";
export type * from "./client/records.ts";
export type { Client } from "./client/typed-client.ts";
export type { Options } from "./config/options/options.ts";
export { BadOptions } from "./config/parse-options.ts";
export { BadSeed, type Seed } from "./config/seed.ts";
export type { Comparison } from "./control/state-calls.ts";
export { verifySignature, verifyStandardWebhook } from "./deliveries/signature.ts";
export type {
  DeploymentDriver,
  DeploymentWork,
  LogLine,
  Progress,
} from "./drivers/deployment/contract.ts";
export { simulatedDeployments } from "./drivers/deployment/simulated.ts";
export type {
  GenerationDriver,
  GenerationWork,
  Progress as GenerationProgress,
} from "./drivers/generation/contract.ts";
export { type SimulatedGeneration, simulatedGenerations } from "./drivers/generation/simulated.ts";
export type { MailTransport, OutgoingMail } from "./drivers/mail/contract.ts";
export type { Sink } from "./drivers/outbound/function-transport.ts";
export type { SimulatedOutcome } from "./drivers/simulated-outcome.ts";
export type { EventName, WebhookPayload } from "./events/catalog.ts";
export type * from "./events/event-data.ts";
export type { Listening } from "./http/server.ts";
export type { NewFault, StoredFault } from "./instruments/faults.ts";
export type { Caught, InboxSettings } from "./instruments/inbox.ts";
export type { InboxAnswer } from "./instruments/inbox-script.ts";
export type { JournalEntry, JournalQuery } from "./instruments/journal.ts";
export type { ReceivedDelivery } from "./instruments/received-deliveries.ts";
export type { Upcoming } from "./jobs/upcoming.ts";
export { Problem, type ProblemCode, problems } from "./kernel/errors.ts";
export type { Fields, Log } from "./kernel/log.ts";
export type { SentMail } from "./mails/service.ts";
export type { NewScenario } from "./scenarios/schema.ts";
export type { Scenario } from "./scenarios/service.ts";
export { createService } from "./service.ts";
export { DatabaseError } from "./store/database-error.ts";
export type { RecordChange } from "./store/image-differences.ts";
export type { Violation } from "./store/invariants.ts";
